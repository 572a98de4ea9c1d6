-- Gives every request a query no request had before: the clock makes it new in each round, the count in each request.

local count = 0
local round = os.time()

function request()
   count = count + 1
   return wrk.format(nil, string.format("%s%d-%d", wrk.path, round, count))
end
