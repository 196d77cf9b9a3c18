/*
 * Prints which rules of a SecLang file match according to libmodsecurity: the other side of the
 * differential test. It runs in process and not through nginx, so that both engines get exactly the
 * same request, and can handle twenty thousand of them in a minute.
 *
 *   rules FILE < requests > ids
 *
 * A request is a series of strings, each preceded by its length (32 bits, little endian): method,
 * target, version ("1.1"), number of headers (a length without a string), name and value of each
 * header, body. The answer is one line: the ids of the rules that logged something, in the order
 * of their messages, separated by spaces; a rule that logged twice is listed twice.
 *
 *   cc -O2 -o rules rules.c -lmodsecurity
 */
#include <modsecurity/modsecurity.h>
#include <modsecurity/rules_set.h>
#include <modsecurity/transaction.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A longer string is an error of the sender. */
#define MAX_STRING (64u << 20)
/* Headers of one request. */
#define MAX_HEADERS 1000u

/* Called for every message: prints the first [id "..."] in it. */
static void note(void *data, const void *message)
{
    const char *at = strstr((const char *)message, "[id \"");
    int *count = data;

    if (at == NULL)
        return;
    at += strlen("[id \"");
    printf(*count == 0 ? "%.*s" : " %.*s", (int)strspn(at, "0123456789"), at);
    (*count)++;
}

/* Reads a length; 0 at the end of the input. */
static int read_length(uint32_t *length)
{
    unsigned char bytes[4];

    if (fread(bytes, 1, sizeof bytes, stdin) != sizeof bytes)
        return 0;
    *length = bytes[0] | bytes[1] << 8 | bytes[2] << 16 | (uint32_t)bytes[3] << 24;
    return 1;
}

static void fail(const char *what)
{
    fprintf(stderr, "rules: %s\n", what);
    exit(1);
}

/* Reads a string and ends it with a zero byte. NULL at the end of the input. */
static char *read_string(uint32_t *length)
{
    char *text;

    if (!read_length(length))
        return NULL;
    if (*length > MAX_STRING)
        fail("a string is too long");
    text = malloc((size_t)*length + 1);
    if (text == NULL || fread(text, 1, *length, stdin) != *length)
        fail("the input ends within a string");
    text[*length] = '\0';
    return text;
}

static char *need_string(uint32_t *length)
{
    char *text = read_string(length);

    if (text == NULL)
        fail("the input ends within a request");
    return text;
}

static void add_headers(Transaction *transaction)
{
    uint32_t count, name_length, value_length;

    if (!read_length(&count) || count > MAX_HEADERS)
        fail("no number of headers, or too many");
    while (count-- > 0) {
        char *name = need_string(&name_length);
        char *value = need_string(&value_length);

        msc_add_n_request_header(transaction, (unsigned char *)name, name_length, (unsigned char *)value,
                                 value_length);
        free(name);
        free(value);
    }
}

/* Handles one request whose method has already been read. */
static void inspect(ModSecurity *engine, RulesSet *rules, char *method)
{
    int count = 0;
    uint32_t length;
    Transaction *transaction = msc_new_transaction(engine, rules, &count);
    char *target = need_string(&length);
    char *version = need_string(&length);
    char *body;

    msc_process_connection(transaction, "127.0.0.1", 40000, "127.0.0.1", 80);
    msc_process_uri(transaction, target, method, version);
    add_headers(transaction);
    msc_process_request_headers(transaction);
    body = need_string(&length);
    if (length > 0)
        msc_append_request_body(transaction, (unsigned char *)body, length);
    msc_process_request_body(transaction);
    msc_add_response_header(transaction, (unsigned char *)"Content-Type", (unsigned char *)"text/html");
    msc_process_response_headers(transaction, 200, "HTTP 1.1");
    msc_process_response_body(transaction);
    msc_process_logging(transaction);
    msc_transaction_cleanup(transaction);
    printf("\n");
    free(target);
    free(version);
    free(body);
}

int main(int argc, char **argv)
{
    ModSecurity *engine = msc_init();
    RulesSet *rules = msc_create_rules_set();
    const char *error = NULL;
    uint32_t length;
    char *method;

    if (argc != 2)
        fail("usage: rules FILE < requests > ids");
    msc_set_connector_info(engine, "weir-bench differential");
    msc_set_log_cb(engine, note);
    if (msc_rules_add_file(rules, argv[1], &error) < 0)
        fail(error == NULL ? "the rules cannot be loaded" : error);
    while ((method = read_string(&length)) != NULL) {
        inspect(engine, rules, method);
        free(method);
        if (fflush(stdout) != 0)
            fail("nobody reads the ids");
    }
    msc_rules_cleanup(rules);
    msc_cleanup(engine);
    return 0;
}
