-- Assigns a permission to another user each time. When all users have it, the next permission follows, so that every
-- request writes.

local PERMISSIONS = {
   "view_asset", "add_submissions", "change_asset", "view_submissions", "validate_submissions", "delete_submissions",
   "change_submissions", "manage_asset",
}
local MEMBERS = 2000 -- as in sharing_data.py

local count = tonumber(os.getenv("WORK_START"))

function request()
   count = count + 1
   local permission = PERMISSIONS[math.floor(count / MEMBERS) % #PERMISSIONS + 1]
   local body = string.format(
      '{"user": "/api/v2/users/assigned%d/", "permission": "/api/v2/permissions/%s/"}', count % MEMBERS, permission
   )
   return wrk.format(nil, nil, nil, body)
end
