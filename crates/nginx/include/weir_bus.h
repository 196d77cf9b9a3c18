/*
 * Messages between the workers of nginx, for modules beside Weir. The functions are in Weir's module, which is loaded
 * first; look for them with dlsym(RTLD_DEFAULT, ...), or declare this header and load after it.
 *
 * All of them are for nginx's own thread, in a worker. Those that return -1 say why in weir_bus_error(). A listener is a
 * positive number; what it hears waits in a queue of limit_bytes (0: 1 MiB) until weir_bus_next() takes it, and its wake
 * is called once for each message, from the event loop. A listener that does not read loses the newest messages.
 *
 * Order is kept for each sender and topic. A message arrives at most once.
 */
#ifndef WEIR_BUS_H
#define WEIR_BUS_H

#include <stddef.h>
#include <stdint.h>

#define WEIR_BUS_ABI 1

/* Kinds of messages. */
enum {
    WEIR_BUS_PUBLISHED = 1,          /* for all that listen to the topic */
    WEIR_BUS_TO_OWNER = 2,           /* for the owner of the key, which is in topic */
    WEIR_BUS_QUESTION = 3,           /* as published; the sender waits for weir_bus_reply(id, ...) */
    WEIR_BUS_QUESTION_TO_OWNER = 4,
    WEIR_BUS_QUESTION_TO_WORKER = 5,
    WEIR_BUS_REPLY = 6
};

/* A message. Its bytes stay until the next call of weir_bus_next(). */
typedef struct {
    const char *topic;
    size_t      topic_len;
    const char *data;
    size_t      len;
    uint64_t    id;   /* for weir_bus_reply(); 0 if nobody waits for a reply */
    uint32_t    kind;
} weir_bus_message_t;

typedef void (*weir_bus_wake_pt)(void *data);

#ifdef __cplusplus
extern "C" {
#endif

/* WEIR_BUS_ABI of the module that is loaded. */
int weir_bus_abi(void);

/* Why the last call failed that returned -1. */
const char *weir_bus_error(void);

/* Topics are UTF-8 of at most 256 bytes, in levels between slashes. What is published on a topic of a `topics` resource
 * reaches its clients, too, and has its history. 0 or -1. */
int weir_bus_publish(const char *topic, size_t topic_len, const char *data, size_t len);

/* Keys are 1 to 256 bytes. -1 if nobody owns the key, within a second of its owner's death. */
int weir_bus_send_to_owner(const char *key, size_t key_len, const char *data, size_t len);

/* Listens to a filter: `+` stands for one level, a last `#` for the rest. Of all listeners of a group, in all workers, one
 * gets each message; group may be NULL. A listener, or -1. */
int64_t weir_bus_subscribe(const char *filter, size_t filter_len, const char *group, size_t group_len,
                           size_t limit_bytes, weir_bus_wake_pt wake, void *data);

/* Claims a key until weir_bus_close() or the end of the worker, and listens to what is sent to its owner. A listener, or
 * -1 if someone has it. */
int64_t weir_bus_claim(const char *key, size_t key_len, size_t limit_bytes, weir_bus_wake_pt wake, void *data);

/* Listens to questions to this worker on a topic. A listener, or -1. */
int64_t weir_bus_serve(const char *topic, size_t topic_len, size_t limit_bytes, weir_bus_wake_pt wake, void *data);

/* Asks the owner of a key (is_key is not 0), the worker of a number on a topic, or, if worker is -1, those that listen to
 * a topic. The listener that is returned gets the reply; close it when it has come, or when you have waited long enough. */
int64_t weir_bus_request(const char *to, size_t to_len, int is_key, int worker, const char *data, size_t len,
                         weir_bus_wake_pt wake, void *wake_data);

/* 0 or -1. */
int weir_bus_reply(uint64_t id, const char *data, size_t len);

/* The next message of a listener: 1, or 0 if there is none. */
int weir_bus_next(int64_t listener, weir_bus_message_t *message);

/* Messages that a listener has lost because it did not read. */
uint64_t weir_bus_dropped(int64_t listener);

/* Stops listening, and gives a key up. */
void weir_bus_close(int64_t listener);

/* A wake for listeners of Lua: data is the semaphore of an ngx.semaphore. */
void weir_bus_wake_lua(void *semaphore);

#ifdef __cplusplus
}
#endif

#endif
