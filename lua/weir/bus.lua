-- Messages between the workers of nginx, and to clients, for Lua in nginx or OpenResty. docs/messages.md has examples.
--
-- Needs Weir's module in the same nginx, and lua-resty-core for ngx.semaphore. What waits (receive, request) can be called
-- where Lua may yield: rewrite, access and content phases, timers. What does not can be called anywhere in a worker.

local ffi = require "ffi"
local semaphore = require "ngx.semaphore"

local C = ffi.C

ffi.cdef [[
typedef struct {
    const char *topic;
    size_t      topic_len;
    const char *data;
    size_t      len;
    uint64_t    id;
    uint32_t    kind;
} weir_bus_message_t;

typedef void (*weir_bus_wake_pt)(void *data);

int weir_bus_abi(void);
const char *weir_bus_error(void);
int weir_bus_publish(const char *topic, size_t topic_len, const char *data, size_t len);
int weir_bus_send_to_owner(const char *key, size_t key_len, const char *data, size_t len);
int64_t weir_bus_subscribe(const char *filter, size_t filter_len, const char *group, size_t group_len,
                           size_t limit_bytes, weir_bus_wake_pt wake, void *data);
int64_t weir_bus_claim(const char *key, size_t key_len, size_t limit_bytes, weir_bus_wake_pt wake, void *data);
int64_t weir_bus_serve(const char *topic, size_t topic_len, size_t limit_bytes, weir_bus_wake_pt wake, void *data);
int64_t weir_bus_request(const char *to, size_t to_len, int is_key, int worker, const char *data, size_t len,
                         weir_bus_wake_pt wake, void *wake_data);
int weir_bus_reply(uint64_t id, const char *data, size_t len);
int weir_bus_next(int64_t listener, weir_bus_message_t *message);
uint64_t weir_bus_dropped(int64_t listener);
void weir_bus_close(int64_t listener);
void weir_bus_wake_lua(void *semaphore);

typedef struct { int64_t number; } weir_bus_listener_t;
]]

local ABI = 1
local KINDS = { "published", "to_owner", "question", "question_to_owner", "question_to_worker", "reply" }

local loaded, version = pcall(function() return C.weir_bus_abi() end)
if not loaded then
    error("weir.bus needs Weir's module: load_module ngx_http_weir_module.so")
end
if version ~= ABI then
    error("weir.bus is for version " .. ABI .. " of weir_bus.h, the module has " .. version)
end

-- Closed by the collector, should the program forget to.
local listener_t = ffi.metatype("weir_bus_listener_t", {
    __gc = function(listener)
        if listener.number > 0 then
            C.weir_bus_close(listener.number)
        end
    end,
})

local message = ffi.new("weir_bus_message_t")
local bus = {}

local function failed()
    return nil, ffi.string(C.weir_bus_error())
end

local Message = {}
Message.__index = Message

-- Replies to a question: true, or nil and why not.
function Message:reply(data)
    if not self.id then
        return nil, "the message is not a question"
    end
    if C.weir_bus_reply(self.id, data, #data) < 0 then
        return failed()
    end
    return true
end

local Listener = {}
Listener.__index = Listener

local function listen(begin)
    local sema, err = semaphore.new(0)
    if not sema then
        return nil, err
    end
    local number = begin(C.weir_bus_wake_lua, sema.sem)
    if number < 0 then
        return failed()
    end
    return setmetatable({ sema = sema, listener = listener_t(number) }, Listener)
end

-- The next message: a table with topic, data, kind and, for questions, reply(). Waits up to so many seconds (default 0);
-- nil and "timeout" if none comes.
function Listener:receive(timeout)
    local number = self.listener.number
    if number == 0 then
        return nil, "closed"
    end
    local deadline = ngx.now() + (timeout or 0)
    while true do
        if C.weir_bus_next(number, message) == 1 then
            return setmetatable({
                topic = ffi.string(message.topic, message.topic_len),
                data = ffi.string(message.data, message.len),
                kind = KINDS[message.kind],
                id = message.id ~= 0 and ffi.new("uint64_t", message.id) or nil,
            }, Message)
        end
        local left = deadline - ngx.now()
        if left <= 0 then
            return nil, "timeout"
        end
        local woken, err = self.sema:wait(left)
        if not woken and err ~= "timeout" then
            return nil, err
        end
        ngx.update_time()
    end
end

-- The number of messages that were lost because they were not received in time.
function Listener:dropped()
    return tonumber(C.weir_bus_dropped(self.listener.number))
end

-- Stops listening, and gives a key up.
function Listener:close()
    C.weir_bus_close(self.listener.number)
    self.listener.number = 0
end

-- Publishes to all that listen to the topic, and to its clients: true, or nil and why not.
function bus.publish(topic, data)
    if C.weir_bus_publish(topic, #topic, data, #data) < 0 then
        return failed()
    end
    return true
end

-- Sends to the worker that has claimed the key: true, or nil and why not.
function bus.send_to_owner(key, data)
    if C.weir_bus_send_to_owner(key, #key, data, #data) < 0 then
        return failed()
    end
    return true
end

-- Listens to a filter. Options: group (one of all listeners of the group gets each message), limit (bytes that may wait).
function bus.subscribe(filter, options)
    local group = options and options.group
    local limit = options and options.limit or 0
    return listen(function(wake, data)
        return C.weir_bus_subscribe(filter, #filter, group, group and #group or 0, limit, wake, data)
    end)
end

-- Claims a key, and listens to what is sent to its owner. nil and why not, if someone else has it.
function bus.claim(key, options)
    local limit = options and options.limit or 0
    return listen(function(wake, data)
        return C.weir_bus_claim(key, #key, limit, wake, data)
    end)
end

-- Listens to questions to this worker on a topic.
function bus.serve(topic, options)
    local limit = options and options.limit or 0
    return listen(function(wake, data)
        return C.weir_bus_serve(topic, #topic, limit, wake, data)
    end)
end

-- Asks { key = ... }, { topic = ... } or { worker = N, topic = ... }, and waits up to so many seconds for the reply: its
-- data, or nil and why not ("timeout" if none came).
function bus.request(to, data, timeout)
    local name = to.key or to.topic
    local listener, err = listen(function(wake, wake_data)
        local worker = to.worker or -1
        return C.weir_bus_request(name, #name, to.key and 1 or 0, worker, data, #data, wake, wake_data)
    end)
    if not listener then
        return nil, err
    end
    local reply
    reply, err = listener:receive(timeout or 1)
    listener:close()
    if not reply then
        return nil, err
    end
    return reply.data
end

return bus
