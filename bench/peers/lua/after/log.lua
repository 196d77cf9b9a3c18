-- The reference policy in Lua, optimised: the log hook. One pre-sized buffer is kept between
-- requests, each variable is read once, one table.concat joins them, text is escaped only where
-- necessary, and the file buffer has 64 KiB.

local new_tab = require "table.new"

local ngx, var = ngx, ngx.var
local concat, byte, format = table.concat, string.byte, string.format
local find, gsub = ngx.re.find, ngx.re.gsub

local _M = {}

local FIELDS = 33
local file
local line = new_tab(2 * FIELDS + 1, 0)

-- Field names never change, so they are put into the buffer once.
local NAMES = {
  "time", "request_id", "client", "country", "server_address", "server_port", "host", "method", "path", "query", "uri",
  "protocol", "scheme", "status", "bytes_sent", "body_bytes_sent", "request_length", "request_time", "upstream_address",
  "upstream_status", "upstream_response_time", "upstream_connect_time", "upstream_header_time", "user_agent", "referer",
  "cookie", "forwarded_for", "content_type", "content_length", "connection", "connection_requests", "verdict", "rule",
}
for i = 1, FIELDS do
  line[2 * i - 1] = (i == 1 and '{"' or '","') .. NAMES[i] .. '":"'
end
line[2 * FIELDS + 1] = '"}\n'

local function replacement(m)
  local c = m[0]
  if c == '"' then return '\\"' end
  if c == "\\" then return "\\\\" end
  return format("\\u%04x", byte(c))
end

local function escaped(text)
  if not text then return "" end
  if find(text, [=[["\\\x00-\x1f]]=], "jo") then
    return (gsub(text, [=[["\\\x00-\x1f]]=], replacement, "jo"))
  end
  return text
end

function _M.open(path)
  file = assert(io.open(path, "a"))
  file:setvbuf("full", 65536)
end

function _M.run()
  local state = ngx.ctx
  line[2] = var.time_iso8601
  line[4] = state.request_id or ""
  line[6] = var.remote_addr
  line[8] = state.country or ""
  line[10] = var.server_addr
  line[12] = var.server_port
  line[14] = escaped(var.host)
  line[16] = var.request_method or ""
  line[18] = escaped(var.uri)
  line[20] = escaped(var.args)
  line[22] = escaped(var.request_uri)
  line[24] = var.server_protocol or ""
  line[26] = var.scheme
  line[28] = var.status
  line[30] = var.bytes_sent
  line[32] = var.body_bytes_sent
  line[34] = var.request_length
  line[36] = var.request_time
  line[38] = var.upstream_addr or ""
  line[40] = var.upstream_status or ""
  line[42] = var.upstream_response_time or ""
  line[44] = var.upstream_connect_time or ""
  line[46] = var.upstream_header_time or ""
  line[48] = escaped(var.http_user_agent)
  line[50] = escaped(var.http_referer)
  line[52] = escaped(var.http_cookie)
  line[54] = escaped(var.http_x_forwarded_for)
  line[56] = escaped(var.content_type)
  line[58] = escaped(var.content_length)
  line[60] = var.connection
  line[62] = var.connection_requests
  line[64] = state.verdict or ""
  line[66] = state.rule or ""
  file:write(concat(line, "", 1, 2 * FIELDS + 1))
end

return _M
