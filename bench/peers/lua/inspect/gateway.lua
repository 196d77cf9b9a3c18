-- A gateway in Lua that asks remote services about requests below /asked/, as the RS of a commercial WAF on OpenResty does:
-- a side engine and a semantic cluster, over HTTP with kept connections.
--
-- It has to be configured once, in init_by_lua:
--
--   require('inspect.gateway').configure { ports = { 7001, 7002 }, parallel = true, deadline = 1000, fail = 503 }
--
-- `ports` are those of the services, `deadline` is in milliseconds, and `fail` is the status without an answer, if requests
-- do not pass then. A question is the client's head, unparsed, behind a request line and three fields: the cheapest way that
-- we know of, as no variable but two becomes a string.

local ngx = ngx
local var, exit = ngx.var, ngx.exit
local tcp, raw_header, get_method = ngx.socket.tcp, ngx.req.raw_header, ngx.req.get_method
local spawn, wait = ngx.thread.spawn, ngx.thread.wait
local sub, match, tonumber = string.sub, string.match, tonumber
local PREFIX = "/asked/"
local KEPT_MS, KEPT = 60000, 64

local _M = {}

local ports, parallel, deadline, fail = {}, false, 1000, nil

-- The status of a service's answer; nil without an answer.
local function ask(port, question)
  local socket = tcp()
  socket:settimeout(deadline)
  if not socket:connect("127.0.0.1", port) or not socket:send(question) then return nil end
  local head = socket:receiveuntil("\r\n\r\n")()
  if not head then
    socket:close()
    return nil
  end
  local length = tonumber(match(head, "[Cc]ontent%-[Ll]ength: (%d+)"))
  if length and (length == 0 or socket:receive(length)) then
    socket:setkeepalive(KEPT_MS, KEPT)
  else
    socket:close()
  end
  return tonumber(sub(head, 10, 12))
end

local function decide(status)
  if not status then
    if fail then return exit(fail) end
  elseif status >= 300 then
    return exit(status)
  end
end

function _M.configure(settings)
  ports, parallel, deadline, fail = settings.ports, settings.parallel, settings.deadline, settings.fail
end

function _M.run()
  local target = var.request_uri
  if sub(target, 1, #PREFIX) ~= PREFIX then return end
  local question = {
    "GET /auth HTTP/1.1\r\nX-Original-Method: ", get_method(), "\r\nX-Original-URI: ", target,
    "\r\nX-Real-IP: ", var.remote_addr, "\r\n", raw_header(true),
  }
  if not parallel then
    for i = 1, #ports do decide(ask(ports[i], question)) end
    return
  end
  local threads = {}
  for i = 1, #ports do threads[i] = spawn(ask, ports[i], question) end
  for i = 1, #ports do
    local _, status = wait(threads[i])
    decide(status)
  end
end

return _M
