-- Loaded into wrk for every work: sets the request and prints the results as JSON.

wrk.method = os.getenv("WORK_METHOD")

local body = assert(io.open(os.getenv("WORK_BODY"), "rb"))
wrk.body = body:read("*a")
body:close()
if wrk.body == "" then
   wrk.body = nil -- otherwise wrk sends Content-Length: 0
end

local script = os.getenv("WORK_SCRIPT")
if script ~= "" then
   dofile(script)
end

local pause = tonumber(os.getenv("WORK_PAUSE"))
if pause > 0 then
   -- Exponentially distributed pauses, as of independent clients. wrk takes whole milliseconds: rounding down loses half
   -- a millisecond on average, which is added first.
   function delay()
      return math.floor(-(pause + 0.5) * math.log(1 - math.random()))
   end
end

function done(summary, latency)
   local errors = summary.errors
   io.write(string.format(
      '{"requests": %d, "microseconds": %d, "refused": %d, "broken": %d, "late": %d, "p50": %d, "p99": %d}\n',
      summary.requests,
      summary.duration,
      errors.status,
      errors.connect + errors.read + errors.write,
      errors.timeout,
      latency:percentile(50),
      latency:percentile(99)
   ))
end
