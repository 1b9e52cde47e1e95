// Supplier and consumers of Cyclone DDS, controlled on standard input (see src/events/driver.rs). Each request starts
// one process for the supplier and one for all consumers. Both processes share the recorded times.

#include <dds/dds.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "events.h"

enum { MOST_EVENTS = 100000, PATIENCE_S = 30 };

// Number of an event that is not counted.
static const uint64_t WARM = UINT64_MAX;

// One run: time of each push, number of consumers that have each event, and longest time to the last consumer.
struct run {
  uint32_t consumers, size;
  uint64_t events, window;
  uint64_t took, complete;
  int failed;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  uint64_t pushed[MOST_EVENTS];
  _Atomic uint32_t arrived[MOST_EVENTS];
  uint64_t latencies[MOST_EVENTS];
};

static struct run *run;

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static dds_entity_t made(dds_entity_t entity, const char *what) {
  if (entity < 0) {
    fprintf(stderr, "Cyclone DDS: no %s: %s\n", what, dds_strretcode(-entity));
    _exit(1);
  }
  return entity;
}

static void take(dds_entity_t reader, void *unused) {
  (void)unused;
  void *samples[16] = {NULL};
  dds_sample_info_t about[16];
  int count;
  while ((count = dds_take(reader, samples, about, 16, 16)) > 0) {
    for (int at = 0; at < count; ++at) {
      const bench_Event *event = samples[at];
      if (!about[at].valid_data || event->payload._length < 8) continue;
      uint64_t number;
      memcpy(&number, event->payload._buffer, 8);
      if (number >= run->events) continue;
      if (atomic_fetch_add(&run->arrived[number], 1) + 1 < run->consumers) continue;
      run->latencies[number] = now() - run->pushed[number];
      pthread_mutex_lock(&run->mutex);
      ++run->complete;
      pthread_cond_signal(&run->changed);
      pthread_mutex_unlock(&run->mutex);
    }
    dds_return_loan(reader, samples, count);
  }
}

static int wait_for(uint64_t wanted) {
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += PATIENCE_S;
  int late = 0;
  pthread_mutex_lock(&run->mutex);
  while (run->complete < wanted && !late) late = pthread_cond_timedwait(&run->changed, &run->mutex, &end);
  pthread_mutex_unlock(&run->mutex);
  return !late;
}

static dds_qos_t *reliable(void) {
  dds_qos_t *qos = dds_create_qos();
  dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_SECS(10));
  dds_qset_history(qos, DDS_HISTORY_KEEP_ALL, 0);
  return qos;
}

static dds_entity_t topic(dds_entity_t *participant) {
  *participant = made(dds_create_participant(DDS_DOMAIN_DEFAULT, NULL, NULL), "participant");
  return made(dds_create_topic(*participant, &bench_Event_desc, "events", NULL, NULL), "topic");
}

static void consume(void) {
  dds_entity_t participant, of = topic(&participant);
  dds_listener_t *listener = dds_create_listener(NULL);
  dds_lset_data_available(listener, take);
  dds_qos_t *qos = reliable();
  for (uint32_t at = 0; at < run->consumers; ++at) made(dds_create_reader(participant, of, qos, listener), "reader");
  // Runs until the process is killed.
  for (;;) pause();
}

static void supply(void) {
  dds_entity_t participant, of = topic(&participant);
  dds_qos_t *qos = reliable();
  dds_entity_t writer = made(dds_create_writer(participant, of, qos, NULL), "writer");
  const uint64_t end = now() + PATIENCE_S * 1000000000ull;
  for (;;) {
    dds_publication_matched_status_t matched;
    dds_get_publication_matched_status(writer, &matched);
    if (matched.current_count >= run->consumers) break;
    if (now() > end) {
      fprintf(stderr, "Cyclone DDS: %u readers of %u found the writer\n", matched.current_count, run->consumers);
      _exit(1);
    }
    dds_sleepfor(DDS_MSECS(10));
  }
  bench_Event event;
  memset(&event, 0, sizeof event);
  event.payload._maximum = event.payload._length = run->size;
  event.payload._buffer = malloc(run->size);
  for (uint32_t at = 0; at < run->size; ++at) event.payload._buffer[at] = (uint8_t)at;
  for (int at = 0; at < 50; ++at) {
    memcpy(event.payload._buffer, &WARM, 8);
    dds_write(writer, &event);
    dds_sleepfor(DDS_MSECS(2));
  }
  const uint64_t start = now();
  for (uint64_t number = 0; number < run->events; ++number) {
    if (number >= run->window && !wait_for(number - run->window + 1)) _exit(2);
    memcpy(event.payload._buffer, &number, 8);
    run->pushed[number] = now();
    if (dds_write(writer, &event) < 0) _exit(3);
  }
  if (!wait_for(run->events)) _exit(2);
  run->took = now() - start;
  _exit(0);
}

static int compare(const void *one, const void *other) {
  const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
  return (a > b) - (a < b);
}

static unsigned long long part(double part) {
  return run->latencies[(size_t)((double)(run->events - 1) * part)];
}

int main(void) {
  printf("ready\n");
  fflush(stdout);
  char line[256];
  while (fgets(line, sizeof line, stdin)) {
    run = mmap(NULL, sizeof *run, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (run == MAP_FAILED) return 1;
    uint32_t idle;
    unsigned long long events, window;
    if (sscanf(line, "run %u %u %u %llu %llu", &run->consumers, &idle, &run->size, &events, &window) != 5 || idle != 0 ||
        events == 0 || events > MOST_EVENTS || run->size < 8) {
      fprintf(stderr, "Cyclone DDS: no order is %s", line);
      return 1;
    }
    run->events = events;
    run->window = window;
    pthread_mutexattr_t shared;
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&run->mutex, &shared);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setpshared(&clock, PTHREAD_PROCESS_SHARED);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&run->changed, &clock);
    const pid_t consumers = fork();
    if (consumers == 0) consume();
    const pid_t supplier = fork();
    if (supplier == 0) supply();
    int status = 0;
    waitpid(supplier, &status, 0);
    kill(consumers, SIGKILL);
    waitpid(consumers, NULL, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      fprintf(stderr, "Cyclone DDS: %llu events of %llu reached all readers\n", (unsigned long long)run->complete, events);
      return 1;
    }
    qsort(run->latencies, run->events, sizeof *run->latencies, compare);
    printf("%llu %llu %llu %llu %llu\n", part(0.5), part(0.99), part(0.999), part(1.0), (unsigned long long)run->took);
    fflush(stdout);
    munmap(run, sizeof *run);
  }
  return 0;
}
