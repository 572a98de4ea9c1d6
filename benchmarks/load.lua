-- Loaded into wrk: sets the request, varies its path or body, and prints the results as JSON.

wrk.method = os.getenv("WORK_METHOD")

local body = assert(io.open(os.getenv("WORK_BODY"), "rb"))
wrk.body = body:read("*a")
body:close()
if wrk.body == "" then
   wrk.body = nil -- otherwise wrk sends Content-Length: 0
end

-- Each line is the path of a request, or its body if the method is not GET. A round continues where the last one stopped.
local lines = {}
for line in io.lines(os.getenv("WORK_LINES")) do
   lines[#lines + 1] = line
end
local count = tonumber(os.getenv("WORK_START"))

if #lines > 0 then
   function request()
      count = count + 1
      local line = lines[count % #lines + 1]
      if wrk.method == "GET" then
         return wrk.format(nil, line)
      end
      return wrk.format(nil, nil, nil, line)
   end
end

function done(summary, latency)
   local errors = summary.errors
   io.write(string.format(
      '{"requests": %d, "microseconds": %d, "failures": %d, "median": %d, "p99": %d}\n',
      summary.requests,
      summary.duration,
      errors.status + errors.connect + errors.read + errors.write + errors.timeout,
      latency:percentile(50),
      latency:percentile(99)
   ))
end
