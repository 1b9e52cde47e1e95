package peers;

import Interop.CallbackPOA;
import Interop.Colour;
import Interop.Detailed;
import Interop.Point;
import Interop.Record;

/** Servant of Callback, which clients and servers use. */
final class Callback extends CallbackPOA {
    volatile String heard = "";

    @Override
    public int answer(int question) {
        return question * 2;
    }

    @Override
    public void fail(int code) throws Detailed {
        Record record = new Record("callback", new Point((byte) 1, 2.0, (short) 3, 4, true), Colour.blue,
                new int[0], new byte[] {0, 1, 2, 3, 4}, new String[0]);
        throw new Detailed("asked to", code, record);
    }

    @Override
    public int down(Interop.Callback other, int depth) {
        return depth == 0 ? 0 : 1 + other.down(_this(), depth - 1);
    }

    @Override
    public void tell(String news) {
        heard = news;
    }
}
