// SPDX-License-Identifier: Apache-2.0
// The leaderboard patterns that people build on sorted sets, with node-redis: node leaderboard.mjs HOST PORT.
import { createClient } from "redis";

const [host, port] = process.argv.slice(2);
const client = await createClient({ socket: { host, port: Number(port) } }).connect();
const print = (name, ...values) => console.log(name, JSON.stringify(values));
await client.flushAll();

// one score, three windows, all together
const submit = (user, delta) =>
    client.multi()
        .zIncrBy("leaderboard:global", delta, user)
        .zIncrBy("leaderboard:weekly", delta, user)
        .zIncrBy("leaderboard:daily", delta, user)
        .expire("leaderboard:daily", 86400)
        .exec();

print("submit", await submit("ada", 50), await submit("bob", 70), await submit("ada", 30.5));
await Promise.all(Array.from({ length: 200 }, (_, i) => submit(`player:${String(i).padStart(8, "0")}`, (i * 7919) % 1000)));
print("rank", await client.zRevRank("leaderboard:global", "ada"), await client.zRevRank("leaderboard:global", "nobody"));
print("score", await client.zScore("leaderboard:global", "ada"), await client.zCard("leaderboard:global"));
print("top", await client.zRangeWithScores("leaderboard:global", 0, 9, { REV: true }));
print("range", await client.zRangeByScoreWithScores("leaderboard:global", 990, "+inf"));
print("count", await client.zCount("leaderboard:global", "(500", "+inf"));
const rank = await client.zRevRank("leaderboard:global", "ada");
print("around", await client.zRange("leaderboard:global", rank - 5, rank + 5, { REV: true }));

await client.sAdd("friends", ["bob", "player:00000007", "stranger"]);
print("friends", await client.zInterStore("board", ["leaderboard:global", "friends"], { WEIGHTS: [1, 0] }),
    await client.zRangeWithScores("board", 0, -1, { REV: true }));
print("friends at once", await client.zInterWithScores(["leaderboard:global", "friends"]));
print("several", await client.zmScore("leaderboard:global", ["bob", "stranger"]));
print("best", await client.zAdd("best", { score: 10, value: "ada" }, { GT: true, CH: true }),
    await client.zAdd("best", { score: 5, value: "ada" }, { GT: true, CH: true }));
await client.zAdd("ties", ["alice", "bob", "charlie"].map((value) => ({ score: 100, value })));
print("ties", await client.zRange("ties", 0, -1, { REV: true }));

// somebody else is faster
const watcher = client.duplicate();
await watcher.connect();
await watcher.watch("best");
await client.zAdd("best", { score: 99, value: "bob" });
try {
    print("watched", await watcher.multi().zAdd("best", { score: 0, value: "ada" }).exec());
} catch (e) {
    print("watched", e.constructor.name);
}
await watcher.quit();

print("pop", await client.zPopMaxCount("ties", 2), await client.zPopMin("ties"), await client.exists("ties"));
try {
    await client.zAdd("friends", { score: 1, value: "x" });
} catch (e) {
    print("error", e.message);
}
await client.flushAll();
print("end", await client.dbSize());
await client.quit();
