-- Gives every request a new query: the clock differs in each round, the count in each request.

local count = 0
local round = os.time()

function request()
   count = count + 1
   return wrk.format(nil, string.format("%s%d-%d", wrk.path, round, count))
end
