-- A federated message server: one long connection to each peer, dialled by whichever worker claims it; messages for the
-- peer come in at any worker, and its replies go back to the worker that asked.
--
-- A peer speaks lines over TCP: `ID TEXT\n` to it, `ID TEXT\n` back. If the worker that has the connection dies, another
-- one claims the peer and dials again, within about a second.

local bus = require "weir.bus"

local federation = {}

-- Seconds between two attempts to claim a peer, and to dial it.
local RETRY = 0.2
-- Seconds that a peer has for its reply.
local DEADLINE = 1

-- Reads replies until the connection ends.
local function read(socket, asked)
    while true do
        local line = socket:receive("*l")
        if not line then
            return
        end
        local id, text = line:match("^(%d+) (.*)$")
        local question = asked[id]
        if question then
            asked[id] = nil
            question:reply(text)
        end
    end
end

-- Writes what is sent to the owner of the peer, until the connection or the worker ends.
local function serve(peer, listener)
    local socket = ngx.socket.tcp()
    socket:settimeouts(1000, 1000, 24 * 3600 * 1000)
    if not socket:connect(peer.host, peer.port) then
        return
    end
    local asked, last = {}, 0
    local reader = ngx.thread.spawn(read, socket, asked)
    while not ngx.worker.exiting() and coroutine.status(reader) ~= "dead" do
        local message = listener:receive(RETRY)
        if message then
            last = last + 1
            if message.id then
                asked[tostring(last)] = message
            end
            if not socket:send(last .. " " .. message.data .. "\n") then
                break
            end
        end
    end
    socket:close()
    ngx.thread.kill(reader)
end

-- Claims the peer whenever nobody has it, and serves it then.
local function keep(premature, peer)
    while not premature and not ngx.worker.exiting() do
        local listener = bus.claim("peer/" .. peer.name)
        if listener then
            serve(peer, listener)
            listener:close()
        end
        ngx.sleep(RETRY)
    end
end

-- In init_worker_by_lua: peers is a list of { name = ..., host = ..., port = ... }.
function federation.start(peers)
    for _, peer in ipairs(peers) do
        ngx.timer.at(0, keep, peer)
    end
end

-- The reply of a peer to a text of one line, or nil and why not. From any worker.
function federation.ask(name, text)
    return bus.request({ key = "peer/" .. name }, text, DEADLINE)
end

return federation
