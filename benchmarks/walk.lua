-- Requests the paths of a file in order, continuing where the last round stopped, and starts again at the end.

local paths = {}
for line in io.lines(os.getenv("WORK_PATHS")) do
   paths[#paths + 1] = line
end

local count = tonumber(os.getenv("WORK_START"))

function request()
   count = count + 1
   return wrk.format(nil, paths[count % #paths + 1])
end
