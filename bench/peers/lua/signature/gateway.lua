-- A gateway in Lua with selectors (which requests) and rules (what is done with them), one of which checks signatures.
--
-- The selectors are tried in their order, as their conditions may be any; the rules of the first that matches apply. It
-- has to be configured once, in init_by_lua:
--
--   require('signature.gateway').configure { sort = "table", selectors = 15, secrets = { app = "secret" } }
--
-- `sort` is `table`, `shell` or `smooth`. Selector 7 has the paths that begin with /s7/.

local sorts = require "signature.sort"
local tokens = require "signature.tokens"

local ngx, io = ngx, io
local var, md5 = ngx.var, ngx.md5
local get_method, read_body = ngx.req.get_method, ngx.req.read_body
local get_body_data, get_body_file = ngx.req.get_body_data, ngx.req.get_body_file
local sub, lower, find = string.sub, string.lower, string.find
local UNAUTHORIZED, NOT_ALLOWED = ngx.HTTP_UNAUTHORIZED, ngx.HTTP_NOT_ALLOWED

local _M = {}

local selectors, secrets, sort = {}, {}, sorts.table

local function body_of_request()
  read_body()
  local body = get_body_data()
  if body then return body end
  local path = get_body_file()
  if not path then return "" end
  local file = io.open(path, "rb")
  if not file then return nil end
  body = file:read("*a")
  file:close()
  return body
end

-- Whether the client has signed the body with its secret.
local function is_signed()
  local app, signature = var.http_x_app_id, var.http_x_signature
  local secret = app and secrets[app]
  if not secret or not signature then return false end
  local body = body_of_request()
  local text = body and tokens.sorted(body, sort)
  return text ~= nil and md5(text .. secret) == signature
end

-- The rules: a condition and a status for requests that it holds for.
local RULES = {
  {
    name = "signature",
    denies = function(method)
      if method ~= "POST" then return false end
      local content_type = var.content_type
      return content_type and find(lower(content_type), "^%s*application/json%s*%f[;%z]") and not is_signed()
    end,
    status = UNAUTHORIZED,
  },
  {
    name = "application",
    denies = function(method) return method == "POST" and not var.http_x_app_id end,
    status = UNAUTHORIZED,
  },
  {
    name = "method",
    denies = function(method) return method ~= "GET" and method ~= "POST" end,
    status = NOT_ALLOWED,
  },
}

function _M.configure(settings)
  sort = assert(sorts[settings.sort], "no such sort")
  secrets = settings.secrets
  selectors = {}
  for i = 1, settings.selectors do selectors[i] = { prefix = "/s" .. i .. "/", rules = RULES } end
end

function _M.run()
  local uri, method = var.uri, get_method()
  for i = 1, #selectors do
    local selector = selectors[i]
    if sub(uri, 1, #selector.prefix) == selector.prefix then
      local rules = selector.rules
      for j = 1, #rules do
        if rules[j].denies(method) then return ngx.exit(rules[j].status) end
      end
      return
    end
  end
end

return _M
