-- The reference policy in Lua, before optimisation: the log hook. The variables are read again,
-- the JSON line of 33 fields grows by `..`, and every line is written to the file at once.

local _M = {}

local file

local function escape(text)
  text = tostring(text or "")
  text = string.gsub(text, "\\", "\\\\")
  text = string.gsub(text, '"', '\\"')
  text = string.gsub(text, "%c", function(c) return string.format("\\u%04x", string.byte(c)) end)
  return text
end

local function add(line, name, value)
  if line ~= "{" then line = line .. "," end
  return line .. '"' .. name .. '":"' .. escape(value) .. '"'
end

function _M.open(path)
  file = assert(io.open(path, "a"))
end

function _M.run()
  local line = "{"
  line = add(line, "time", ngx.var.time_iso8601)
  line = add(line, "request_id", ngx.ctx.request_id)
  line = add(line, "client", ngx.var.remote_addr)
  line = add(line, "country", ngx.ctx.country)
  line = add(line, "server_address", ngx.var.server_addr)
  line = add(line, "server_port", ngx.var.server_port)
  line = add(line, "host", ngx.var.host)
  line = add(line, "method", ngx.var.request_method)
  line = add(line, "path", ngx.var.uri)
  line = add(line, "query", ngx.var.args)
  line = add(line, "uri", ngx.var.request_uri)
  line = add(line, "protocol", ngx.var.server_protocol)
  line = add(line, "scheme", ngx.var.scheme)
  line = add(line, "status", ngx.var.status)
  line = add(line, "bytes_sent", ngx.var.bytes_sent)
  line = add(line, "body_bytes_sent", ngx.var.body_bytes_sent)
  line = add(line, "request_length", ngx.var.request_length)
  line = add(line, "request_time", ngx.var.request_time)
  line = add(line, "upstream_address", ngx.var.upstream_addr)
  line = add(line, "upstream_status", ngx.var.upstream_status)
  line = add(line, "upstream_response_time", ngx.var.upstream_response_time)
  line = add(line, "upstream_connect_time", ngx.var.upstream_connect_time)
  line = add(line, "upstream_header_time", ngx.var.upstream_header_time)
  line = add(line, "user_agent", ngx.var.http_user_agent)
  line = add(line, "referer", ngx.var.http_referer)
  line = add(line, "cookie", ngx.var.http_cookie)
  line = add(line, "forwarded_for", ngx.var.http_x_forwarded_for)
  line = add(line, "content_type", ngx.var.content_type)
  line = add(line, "content_length", ngx.var.content_length)
  line = add(line, "connection", ngx.var.connection)
  line = add(line, "connection_requests", ngx.var.connection_requests)
  line = add(line, "verdict", ngx.ctx.verdict)
  line = add(line, "rule", ngx.ctx.rule)
  file:write(line .. "}\n")
  file:flush()
end

return _M
