-- The reference policy of 40 rules in Lua, before optimisation: the access hook.
--
-- Everything that nginx knows about the request is copied into Lua tables under ngx.ctx, whether
-- it is needed or not. Strings grow by `..`, messages are formatted whatever the log level, and
-- the request id is the MD5 of address, pid and time.

local rules = require "rules"
local blocked = require "blocked"

local _M = {}

local VARIABLES = {
  "remote_addr", "remote_port", "server_addr", "server_port", "server_name", "server_protocol", "scheme", "host",
  "http_host", "request_method", "request_uri", "uri", "document_uri", "args", "query_string", "is_args", "request",
  "request_length", "content_type", "content_length", "http_user_agent", "http_referer", "http_cookie",
  "http_x_forwarded_for", "http_x_forwarded_proto", "http_accept", "http_accept_language", "http_accept_encoding",
  "http_origin", "connection", "connection_requests", "msec", "time_iso8601", "time_local", "hostname", "nginx_version",
  "pid", "https", "ssl_protocol", "ssl_cipher", "geoip2_country_code", "binary_remote_addr", "document_root",
  "request_filename", "remote_user",
}

local function copy_request()
  ngx.ctx.vars = {}
  for i = 1, #VARIABLES do
    ngx.ctx.vars[VARIABLES[i]] = ngx.var[VARIABLES[i]]
  end
  ngx.ctx.headers = {}
  for name, value in pairs(ngx.req.get_headers(0)) do
    if type(value) == "table" then value = table.concat(value, ", ") end
    ngx.ctx.headers[string.lower(name)] = value
  end
  ngx.ctx.cookies = {}
  for name, value in string.gmatch(ngx.ctx.vars.http_cookie or "", "([^=;%s]+)=([^;]*)") do
    ngx.ctx.cookies[name] = value
  end
  ngx.ctx.args = {}
  for name, value in pairs(ngx.req.get_uri_args(0)) do
    if type(value) ~= "table" then value = { value } end
    for i = 1, #value do
      ngx.ctx.args[#ngx.ctx.args + 1] = { name = name, value = tostring(value[i]) }
    end
  end
  ngx.req.read_body()
  ngx.ctx.body = ngx.req.get_body_data() or ""
  ngx.ctx.form = {}
  for name, value in pairs(ngx.req.get_post_args(0) or {}) do
    if type(value) ~= "table" then value = { value } end
    for i = 1, #value do
      ngx.ctx.form[#ngx.ctx.form + 1] = { name = name, value = tostring(value[i]) }
    end
  end
end

local function request_id()
  return ngx.md5(ngx.ctx.vars.remote_addr .. "-" .. ngx.worker.pid() .. "-" .. ngx.now() .. "-" .. math.random())
end

local function debug(message)
  ngx.log(ngx.DEBUG, "rs: [" .. ngx.ctx.request_id .. "] " .. message)
end

local function subject_of(key)
  if key == "path" then return ngx.ctx.vars.uri end
  if key == "agent" then return ngx.ctx.headers["user-agent"] end
  if key == "cookie" then return ngx.ctx.headers["cookie"] end
  if key == "referer" then return ngx.ctx.headers["referer"] end
  return ""
end

local function matches(rule)
  if rule.subject == "args" or rule.subject == "form" then
    local items = ngx.ctx[rule.subject]
    for i = 1, #items do
      if ngx.re.find(items[i].value, rule.pattern, "jo") then return items[i].name end
    end
    return nil
  end
  return ngx.re.find(subject_of(rule.subject) or "", rule.pattern, "jo") and rule.subject
end

local function block(id, where)
  ngx.ctx.verdict = "block"
  ngx.ctx.rule = id
  ngx.ctx.where = where
  debug("blocked by " .. id .. " in " .. where)
  return ngx.exit(ngx.HTTP_FORBIDDEN)
end

function _M.run()
  copy_request()
  ngx.ctx.request_id = request_id()
  ngx.req.set_header("X-Request-Id", ngx.ctx.request_id)
  ngx.ctx.verdict = "pass"
  ngx.ctx.rule = ""
  debug("request " .. ngx.ctx.vars.request_method .. " " .. ngx.ctx.vars.request_uri .. " from "
    .. ngx.ctx.vars.remote_addr .. " agent " .. (ngx.ctx.vars.http_user_agent or "-"))
  if blocked[ngx.ctx.vars.remote_addr] then return block("blocked-address", "client") end
  ngx.ctx.country = ngx.ctx.vars.geoip2_country_code or ""
  if rules.countries[ngx.ctx.country] then return block("blocked-country", "client") end
  for i = 1, #rules.list do
    local rule = rules.list[i]
    local where = matches(rule)
    debug("rule " .. rule.id .. " on " .. rule.subject .. ": " .. tostring(where))
    if where then return block(rule.id, where) end
  end
end

return _M
