-- The reference policy of 40 rules in Lua, optimised: the access hook.
--
-- Each variable is read when a rule needs it and kept in a local. Only one small pre-sized table
-- goes to the log hook. No message is formatted below the log level. The request id is a UUIDv7
-- from the cached clock, a counter and random bits, without MD5. Rules over the same subject are
-- stored together, so that no branch is taken per rule.

local new_tab = require "table.new"
local errlog = require "ngx.errlog"
local rules = require "rules"
local blocked = require "blocked"

local ngx, type, pairs, tostring = ngx, type, pairs, tostring
local find = ngx.re.find
local var = ngx.var
local get_uri_args, get_post_args = ngx.req.get_uri_args, ngx.req.get_post_args
local read_body, get_body_data = ngx.req.read_body, ngx.req.get_body_data
local set_header, now, exit = ngx.req.set_header, ngx.now, ngx.exit
local format, random, floor = string.format, math.random, math.floor
local FORBIDDEN, DEBUG = ngx.HTTP_FORBIDDEN, ngx.DEBUG

local _M = {}

local countries = rules.countries

-- The rules by subject, with patterns and ids in separate arrays; within a subject, in the
-- order of the policy.
local by_subject = {}
for _, rule in ipairs(rules.list) do
  local group = by_subject[rule.subject]
  if not group then
    group = { patterns = {}, ids = {}, count = 0 }
    by_subject[rule.subject] = group
  end
  group.count = group.count + 1
  group.patterns[group.count] = rule.pattern
  group.ids[group.count] = rule.id
end
local path_rules, args_rules, form_rules = by_subject.path, by_subject.args, by_subject.form
local agent_rules, cookie_rules, referer_rules = by_subject.agent, by_subject.cookie, by_subject.referer

local sequence = 0

local function request_id()
  sequence = (sequence + 1) % 4096
  local ms = floor(now() * 1000)
  local high = floor(ms / 65536)
  return format("%08x-%04x-7%03x-%04x-%04x%08x", high, ms - high * 65536, sequence, 32768 + random(0, 16383),
    random(0, 65535), random(0, 2147483647))
end

-- Returns the name of the first rule of the group that matches the value.
local function match(group, value)
  if not value then value = "" end
  local patterns = group.patterns
  for i = 1, group.count do
    if find(value, patterns[i], "jo") then return group.ids[i] end
  end
end

-- Does the same for the values of a table of arguments.
local function match_values(group, items)
  for _, value in pairs(items) do
    if type(value) == "table" then
      for i = 1, #value do
        local id = match(group, tostring(value[i]))
        if id then return id end
      end
    else
      local id = match(group, value == true and "true" or value)
      if id then return id end
    end
  end
end

local function block(state, id)
  state.verdict = "block"
  state.rule = id
  if errlog.get_sys_filter_level() >= DEBUG then
    ngx.log(DEBUG, "rs: [", state.request_id, "] blocked by ", id)
  end
  return exit(FORBIDDEN)
end

local function decide(state, client)
  if blocked[client] then return "blocked-address" end
  local country = var.geoip2_country_code
  state.country = country
  if country and countries[country] then return "blocked-country" end
  local id = match(path_rules, var.uri)
    or match_values(args_rules, get_uri_args(0))
    or match(agent_rules, var.http_user_agent)
    or match(cookie_rules, var.http_cookie)
    or match(referer_rules, var.http_referer)
  if id then return id end
  read_body()
  if get_body_data() then return match_values(form_rules, get_post_args(0)) end
end

function _M.run()
  local state = new_tab(0, 4)
  local id = request_id()
  state.request_id = id
  state.verdict = "pass"
  ngx.ctx = state
  set_header("X-Request-Id", id)
  local rule = decide(state, var.remote_addr)
  if rule then return block(state, rule) end
end

return _M
