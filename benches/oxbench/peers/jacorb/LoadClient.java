import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.Arrays;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.locks.LockSupport;
import oxbench.Cubing;
import oxbench.CubingHelper;

/**
 * JacORB's side of loads (see src/load/mod.rs): concurrent clients with a thread each, controlled on standard input
 * (see src/load/protocol.rs). JacORB opens one connection to a server, which all clients share.
 */
public final class LoadClient {
    /** Nanoseconds from the readiness of the last client to the common start. */
    private static final long LEAD = 20_000_000;

    /** Initial capacity for the samples of a client that calls back to back. */
    private static final int MANY = 1 << 16;

    /** One client. The work is in microseconds; all other times are in nanoseconds. */
    private record Task(int object, long phase, long period, int work, boolean fromRelease) {
        static Task parse(String word) {
            String[] parts = word.split(":");
            if (parts.length != 6) throw new IllegalArgumentException("a client is six numbers, not " + word);
            return new Task(Integer.parseInt(parts[0]), Long.parseLong(parts[2]) * 1000,
                    Long.parseLong(parts[3]) * 1000, Integer.parseInt(parts[4]), parts[5].equals("1"));
        }
    }

    private static volatile long start;

    public static void main(String[] references) throws Exception {
        org.omg.CORBA.ORB orb = LoadServer.orb();
        Cubing[] objects = new Cubing[references.length];
        for (int i = 0; i < references.length; i++) {
            objects[i] = CubingHelper.narrow(orb.string_to_object(references[i]));
        }
        PrintStream output = new PrintStream(new BufferedOutputStream(System.out, 1 << 20), false);
        output.println("ready");
        output.flush();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            if (!words[0].equals("load")) {
                throw new IllegalArgumentException("standard input has the line \"" + line
                    + "\", which is no command of this process; its command is load MILLISECONDS TASK...");
            }
            long duration = Long.parseLong(words[1]) * 1_000_000;
            Task[] tasks = Arrays.stream(words).skip(2).map(Task::parse).toArray(Task[]::new);
            for (long[] samples : run(objects, tasks, duration)) {
                for (long sample : samples) {
                    output.print(sample);
                    output.print(' ');
                }
                output.println();
            }
            output.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private static long[][] run(Cubing[] objects, Task[] tasks, long duration) throws InterruptedException {
        long[][] samples = new long[tasks.length][];
        CyclicBarrier ready = new CyclicBarrier(tasks.length, () -> start = System.nanoTime() + LEAD);
        Thread[] threads = new Thread[tasks.length];
        for (int i = 0; i < tasks.length; i++) {
            int at = i;
            threads[i] = new Thread(() -> {
                try {
                    samples[at] = repeat(objects[tasks[at].object], tasks[at], ready, duration);
                } catch (Throwable error) {
                    error.printStackTrace();
                    Runtime.getRuntime().halt(1);
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
        return samples;
    }

    /** Makes the calls of one client until the time is over, and returns the time of each call. */
    private static long[] repeat(Cubing target, Task task, CyclicBarrier ready, long duration)
            throws InterruptedException, BrokenBarrierException {
        long[] samples = new long[task.period == 0 ? MANY : (int) (duration / task.period + 1)];
        int count = 0;
        for (int i = 0; i < 3; i++) target.cube((byte) 0);
        ready.await();
        long release = start + task.phase;
        long end = start + duration;
        sleepUntil(release);
        for (byte value = 0;; value++) {
            long before = System.nanoTime();
            if (before >= end) return Arrays.copyOf(samples, count);
            byte cube = task.work == 0 ? target.cube(value) : target.toil(value, task.work);
            long after = System.nanoTime();
            if (cube != (byte) (value * value * value)) throw new IllegalStateException("another cube came back");
            if (count == samples.length) samples = Arrays.copyOf(samples, 2 * count + 1);
            samples[count++] = after - (task.fromRelease ? release : before);
            if (task.period != 0) {
                // A release that passed during the call is skipped, not made up for.
                while (release <= after) release += task.period;
                sleepUntil(Math.min(release, end));
            }
        }
    }

    private static void sleepUntil(long when) {
        for (long left = when - System.nanoTime(); left > 0; left = when - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }
}
