-- Asks for another path each time, in the order of a file, from where the last round stopped; at the end from the top.

local paths = {}
for line in io.lines(os.getenv("WORK_PATHS")) do
   paths[#paths + 1] = line
end

local count = tonumber(os.getenv("WORK_START"))

function request()
   count = count + 1
   return wrk.format(nil, paths[count % #paths + 1])
end
