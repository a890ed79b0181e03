/** A process that has done nothing yet lists a wallet of 500 unknown tokens, and says what its longest turns took. */
import { SIGNAL, solanaReaders } from './readers.ts'
import { COLLECTOR } from './words.ts'

/** What connecting costs is not meant. */
const SETTLE_MS = 300

const { orca } = solanaReaders(process.env['BENCH_URL'] ?? '')
await Bun.sleep(SETTLE_MS)
let [lastMs, lastCpu, going] = [performance.now(), process.cpuUsage(), true]
let [wallMs, cpuMs] = [0, 0]
const tick = () => {
  const { user, system } = process.cpuUsage(lastCpu)
  const turnMs = performance.now() - lastMs
  wallMs = Math.max(wallMs, turnMs)
  // What other processes take of the machine is not ours, and what other threads of ours do is no turn.
  cpuMs = Math.max(cpuMs, Math.min(turnMs, (user + system) / 1_000))
  lastMs = performance.now()
  lastCpu = process.cpuUsage()
  if (going) setImmediate(tick)
}
setImmediate(tick)
await orca.readWallet({ wallet: COLLECTOR, isActive: true, isFull: true, page: 1, limit: 10 }, SIGNAL)
going = false
console.log(JSON.stringify({ wallMs, cpuMs }))
process.exit(0)
