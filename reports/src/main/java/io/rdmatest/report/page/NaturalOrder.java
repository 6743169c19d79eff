package io.rdmatest.report.page;

import java.util.Comparator;

/** The order of names in which {@code n9} comes before {@code n10}. */
final class NaturalOrder implements Comparator<String> {

    static final NaturalOrder NAMES = new NaturalOrder();

    private NaturalOrder() {}

    @Override
    public int compare(String left, String right) {
        int at = 0;
        int other = 0;
        while (at < left.length() && other < right.length()) {
            if (isDigit(left.charAt(at)) && isDigit(right.charAt(other))) {
                int end = endOfNumber(left, at);
                int otherEnd = endOfNumber(right, other);
                String number = withoutZeros(left, at, end);
                String otherNumber = withoutZeros(right, other, otherEnd);
                int order = number.length() == otherNumber.length()
                        ? number.compareTo(otherNumber)
                        : Integer.compare(number.length(), otherNumber.length());
                if (order != 0) {
                    return order;
                }
                at = end;
                other = otherEnd;
            } else if (left.charAt(at) != right.charAt(other)) {
                return Character.compare(left.charAt(at), right.charAt(other));
            } else {
                at++;
                other++;
            }
        }
        int order = Integer.compare(left.length() - at, right.length() - other);
        return order != 0 ? order : left.compareTo(right);
    }

    private static boolean isDigit(char c) {
        return c >= '0' && c <= '9';
    }

    private static int endOfNumber(String text, int from) {
        int end = from;
        while (end < text.length() && isDigit(text.charAt(end))) {
            end++;
        }
        return end;
    }

    private static String withoutZeros(String text, int from, int end) {
        int begin = from;
        while (begin < end - 1 && text.charAt(begin) == '0') {
            begin++;
        }
        return text.substring(begin, end);
    }
}
