# SPDX-License-Identifier: Apache-2.0
"""The leaderboard patterns that people build on sorted sets, with redis-py: python leaderboard.py HOST PORT [PROTOCOL]."""
import sys

import redis

r = redis.Redis(host=sys.argv[1], port=int(sys.argv[2]), decode_responses=True,
                protocol=int(sys.argv[3]) if len(sys.argv) > 3 else 2)
r.flushall()


def submit(user, delta):
    """One score, three windows, one round trip; windows go by themselves."""
    pipe = r.pipeline()
    pipe.zincrby("leaderboard:global", delta, user)
    pipe.zincrby("leaderboard:weekly:2026-W46", delta, user)
    pipe.zincrby("leaderboard:daily:2026-11-15", delta, user)
    pipe.expire("leaderboard:daily:2026-11-15", 86400 * 8)
    pipe.expire("leaderboard:weekly:2026-W46", 86400 * 60)
    return pipe.execute()


def rank_of(key, user):
    rank = r.zrevrank(key, user)
    if rank is None:
        return None
    return {"rank": rank + 1, "score": r.zscore(key, user), "total": r.zcard(key)}


print("submit", submit("ada", 50), submit("bob", 70), submit("ada", 30.5))
for i in range(200):
    submit(f"player:{i:08d}", i * 7919 % 1000)
print("rank", rank_of("leaderboard:global", "ada"), rank_of("leaderboard:global", "nobody"))
print("ttl", r.ttl("leaderboard:daily:2026-11-15") > 86400 * 7, r.ttl("leaderboard:global"), r.ttl("nothing"))

print("top", r.zrevrange("leaderboard:global", 0, 9, withscores=True))
print("page", r.zrevrangebyscore("leaderboard:global", "+inf", "-inf", start=100, num=5, withscores=True))
print("unified", r.zrange("leaderboard:global", 0, 4, desc=True, withscores=True))
rank = r.zrevrank("leaderboard:global", "ada")
print("around", r.zrevrange("leaderboard:global", max(0, rank - 5), rank + 5))
print("percentile", 1 - rank / r.zcard("leaderboard:global"))
print("in range", r.zcount("leaderboard:global", "(500", "+inf"), r.zrangebyscore("leaderboard:global", 995, 1000))

# shards by score: a player's rank is those above in higher shards and in the own one
pipe = r.pipeline()
for shard in range(4):
    pipe.zcount(f"lb:{shard}", "(75", "+inf")
print("shards", pipe.execute())

# a cached top list, cut after every write
r.zadd("top", {f"p{i}": i for i in range(1100)})
print("cut", r.zremrangebyrank("top", 0, -(1000 + 1)), r.zcard("top"))

# best score only; first write only
print("best", r.zadd("best", {"ada": 10}, gt=True, ch=True), r.zadd("best", {"ada": 5}, gt=True, ch=True),
      r.zadd("best", {"ada": 20, "bob": 1}, gt=True, ch=True), r.zscore("best", "ada"))
print("first", r.zadd("best", {"ada": 1}, nx=True), r.zadd("best", {"eve": 3}, xx=True), r.zadd("best", {"bob": 2}, incr=True))

# moving between regions, all at once
with r.pipeline(transaction=True) as pipe:
    pipe.zrem("region:eu", "ada")
    pipe.zadd("region:us", {"ada": 20})
    print("move", pipe.execute())

# friends: an intersection, stored and not
r.sadd("friends:ada", "bob", "player:00000007", "player:00000099", "stranger")
print("friends", r.zinterstore("friends:ada:board", {"leaderboard:global": 1, "friends:ada": 0}),
      r.zrevrange("friends:ada:board", 0, -1, withscores=True))
print("friends at once", r.zinter(["leaderboard:global", "friends:ada"], withscores=True))
print("friends one by one", r.zmscore("leaderboard:global", ["bob", "stranger", "player:00000007"]))
print("guilds", r.zunionstore("guild", ["region:us", "best"], aggregate="MAX"), r.zrange("guild", 0, -1, withscores=True))

# ties: by member, and packed with a time
r.zadd("ties", {"alice": 100, "bob": 100, "charlie": 100})
print("ties", r.zrevrange("ties", 0, -1), r.zrevrank("ties", "alice"))
r.zadd("packed", {"early": 1500 * 2**32 + (2**32 - 1000), "late": 1500 * 2**32 + (2**32 - 2000)})
print("packed", r.zrevrange("packed", 0, -1, withscores=True))
r.zadd("quest", {f"{10**13 - t:013d}:{p}": 0 for t, p in ((1700000000000, "ada"), (1700000005000, "bob"))})
print("by member", r.zrangebylex("quest", "-", "+"), r.zlexcount("quest", "-", "+"))

# optimistic locking
with r.pipeline() as pipe:
    pipe.watch("best")
    score = pipe.zscore("best", "ada")
    pipe.multi()
    pipe.zadd("best", {"ada": score * 2})
    print("watched", pipe.execute())
with r.pipeline() as pipe:
    pipe.watch("best")
    r.zadd("best", {"bob": 99})
    pipe.multi()
    pipe.zadd("best", {"ada": 0})
    try:
        pipe.execute()
    except redis.WatchError:
        print("somebody else was faster")

print("scan", sorted(r.zscan_iter("top", match="p99*")), sorted(r.scan_iter(match="leaderboard:*")))
print("pop", r.zpopmax("top", 2), r.zpopmin("top"), r.bzpopmin(["nothing", "top"], 1))
print("keys", r.exists("top", "nothing"), r.type("top"), r.type("friends:ada"), r.rename("top", "old"), r.delete("old", "x"))
try:
    r.zadd("friends:ada", {"x": 1})
except redis.ResponseError as e:
    print("error", e)
r.flushall()
print("end", r.dbsize())
