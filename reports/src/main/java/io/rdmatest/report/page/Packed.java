package io.rdmatest.report.page;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.zip.Deflater;

/**
 * The compact form of the page's arrays: deflated with a header of zlib, and in base64. Values are positive and keep their
 * precision in proportion: each is {@code least × (1 + step)^(code − 1)}, and code 0 means that there is none. All low bytes of
 * the codes come first, then all high bytes.
 *
 * @param base64 the text that the page holds
 * @param least the value of code 1, in SI units
 * @param step the share by which a code is more than the one before it
 * @param zero whether code 1 is 0 instead
 */
record Packed(String base64, double least, double step, boolean zero) {

    private static final int CODES = 0xFFFF;

    /** If there is a 0, code 1 stands for it. Its nominal value is below the least value by this factor. */
    private static final double ZERO = 1e-3;

    /**
     * Packs values.
     *
     * @param values 0 or more, or NaN where there is none
     * @param finest the step that is wanted; it is larger if 65,535 codes do not reach from the least value to the greatest
     */
    static Packed of(float[] values, double finest) {
        double least = Double.POSITIVE_INFINITY;
        double most = 0;
        boolean zero = false;
        for (float value : values) {
            if (value > 0) {
                least = Math.min(least, value);
                most = Math.max(most, value);
            }
            zero |= value == 0;
        }
        if (most == 0) {
            least = 1;
            most = 1;
        }
        if (zero) {
            least *= ZERO;
        }
        double log = Math.max(Math.log1p(finest), Math.log(most / least) / (CODES - 2));
        byte[] planes = new byte[2 * values.length];
        for (int i = 0; i < values.length; i++) {
            if (!Float.isNaN(values[i])) {
                int code = values[i] == 0 ? 1 : 1 + (int) Math.round(Math.log(values[i] / least) / log);
                planes[i] = (byte) code;
                planes[values.length + i] = (byte) (code >> 8);
            }
        }
        return new Packed(base64(planes), least, Math.expm1(log), zero);
    }

    /** Packs bytes as they are. */
    static String base64(byte[] bytes) {
        // Higher levels take several times as long, and save a few percent of what is mostly noise.
        try (Deflater deflater = new Deflater(6)) {
            deflater.setInput(bytes);
            deflater.finish();
            ByteArrayOutputStream packed = new ByteArrayOutputStream(bytes.length / 2 + 64);
            byte[] some = new byte[1 << 16];
            while (!deflater.finished()) {
                packed.write(some, 0, deflater.deflate(some));
            }
            return Base64.getEncoder().encodeToString(packed.toByteArray());
        }
    }

    /** Packs text as UTF-8. */
    static String base64(String text) {
        return base64(text.getBytes(StandardCharsets.UTF_8));
    }
}
