package io.rdmatest.report.page;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Base64;
import java.util.Random;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;
import org.junit.jupiter.api.Test;

class PackedTests {

    /** As the page's script does it. */
    static byte[] unpacked(String base64, int length) throws DataFormatException {
        try (Inflater inflater = new Inflater()) {
            inflater.setInput(Base64.getDecoder().decode(base64));
            byte[] bytes = new byte[length];
            int got = 0;
            while (got < length && !inflater.finished()) {
                got += inflater.inflate(bytes, got, length - got);
            }
            assertThat(got).isEqualTo(length);
            assertThat(inflater.inflate(new byte[1])).as("bytes too many").isZero();
            return bytes;
        }
    }

    static double[] values(Packed packed, int count) throws DataFormatException {
        byte[] planes = unpacked(packed.base64(), 2 * count);
        double[] values = new double[count];
        for (int i = 0; i < count; i++) {
            int code = (planes[i] & 0xFF) | (planes[count + i] & 0xFF) << 8;
            values[i] = code == 0
                    ? Double.NaN
                    : code == 1 && packed.zero() ? 0 : packed.least() * Math.pow(1 + packed.step(), code - 1);
        }
        return values;
    }

    @Test
    void unpacksToTheSameValues() throws Exception {
        Random random = new Random(1);
        float[] values = new float[10_000];
        for (int i = 0; i < values.length; i++) {
            values[i] = i % 7 == 0 ? Float.NaN : (float) (96e9 * Math.exp(random.nextGaussian() * 0.5));
        }

        Packed packed = Packed.of(values, 0.001);

        double[] again = values(packed, values.length);
        assertThat(packed.step()).isCloseTo(0.001, within(1e-9));
        for (int i = 0; i < values.length; i++) {
            if (Float.isNaN(values[i])) {
                assertThat(again[i]).isNaN();
            } else {
                assertThat(again[i] / values[i]).isCloseTo(1, within(0.000_51));
            }
        }
    }

    @Test
    void zeroAndValuesFarApartKeepTheirOrder() throws Exception {
        float[] values = {0, 1e-9f, 3, 4e18f, Float.NaN, 0};

        Packed packed = Packed.of(values, 0.0001);

        double[] again = values(packed, values.length);
        assertThat(packed.step()).as("made larger, so that the codes reach").isGreaterThan(0.0001);
        assertThat(again[0]).isZero();
        assertThat(again[5]).isZero();
        assertThat(again[4]).isNaN();
        assertThat(again[1]).isCloseTo(1e-9, within(1e-11));
        assertThat(again[3] / 4e18).isCloseTo(1, within(packed.step()));
    }

    @Test
    void nothingAndAllTheSame() throws Exception {
        assertThat(values(Packed.of(new float[] {Float.NaN}, 0.001), 1)).containsExactly(Double.NaN);
        assertThat(values(Packed.of(new float[] {5, 5}, 0.001), 2)).containsExactly(5, 5);
        assertThat(values(Packed.of(new float[] {0, 0}, 0.001), 2)).containsExactly(0, 0);
    }
}
