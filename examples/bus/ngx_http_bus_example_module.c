/*
 * A module of nginx that hears messages and answers them, as an example of weir_bus.h. Each message of orders/# is taken by
 * one of all workers, which counts it and publishes on "counted" what it was; a question on "total" is answered with the count
 * of the worker that is asked.
 *
 *   gcc -shared -fPIC -I objs -I src/core -I src/event -I src/event/modules -I src/os/unix -I src/http \
 *       -I src/http/modules -I src/http/v2 -I .../crates/nginx/include -o bus_example.so ngx_http_bus_example_module.c
 *
 * It is loaded after Weir's module, which has the functions.
 */
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "weir_bus.h"

static int64_t orders, questions;
static ngx_uint_t total;

static void
order_arrived(void *data)
{
    weir_bus_message_t message;
    u_char text[300];
    u_char *end;

    while (weir_bus_next(orders, &message) == 1) {
        total++;
        end = ngx_snprintf(text, sizeof(text), "%*s: %*s", message.topic_len, message.topic,
                           ngx_min(message.len, (size_t) 30), message.data);
        if (weir_bus_publish("counted", 7, (char *) text, end - text) != 0) {
            ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, "%s", weir_bus_error());
        }
    }
}

static void
question_arrived(void *data)
{
    weir_bus_message_t message;
    u_char text[NGX_INT_T_LEN];

    while (weir_bus_next(questions, &message) == 1) {
        (void) weir_bus_reply(message.id, (char *) text, ngx_sprintf(text, "%ui", total) - text);
    }
}

static ngx_int_t
init_process(ngx_cycle_t *cycle)
{
    if (weir_bus_abi() != WEIR_BUS_ABI) {
        ngx_log_error(NGX_LOG_ERR, cycle->log, 0, "weir_bus.h is of another version than Weir's module");
        return NGX_ERROR;
    }
    orders = weir_bus_subscribe("orders/#", 8, "example", 7, 0, order_arrived, NULL);
    questions = weir_bus_serve("total", 5, 0, question_arrived, NULL);
    if (orders < 0 || questions < 0) {
        ngx_log_error(NGX_LOG_ERR, cycle->log, 0, "%s", weir_bus_error());
    }
    return NGX_OK;
}

static ngx_http_module_t context;

ngx_module_t ngx_http_bus_example_module = {
    NGX_MODULE_V1, &context, NULL, NGX_HTTP_MODULE, NULL, NULL, init_process, NULL, NULL, NULL, NULL,
    NGX_MODULE_V1_PADDING
};

ngx_module_t *ngx_modules[] = { &ngx_http_bus_example_module, NULL };
char *ngx_module_names[] = { "ngx_http_bus_example_module", NULL };
char *ngx_module_order[] = { NULL };
