/** A fresh process runs the given read, and reports its longest turn of the event loop. */
import { SIGNAL, solanaReaders } from './readers.ts'
import { COLLECTOR, toWallet } from './words.ts'

/** What connecting costs is not meant. */
const SETTLE_MS = 300

const { orca, portfolio, kamino } = solanaReaders(process.env['BENCH_URL'] ?? '')
const wallets = Array.from({ length: 500 }, (_, index) => toWallet(index))
const reads: Readonly<Record<string, () => Promise<unknown>>> = {
  orca: () => orca.readWallet({ wallet: COLLECTOR, isActive: true, isFull: true, page: 1, limit: 10 }, SIGNAL),
  portfolio: () => portfolio.read(COLLECTOR, SIGNAL),
  batch: () => kamino.readWallets({ wallets, market: undefined }, SIGNAL),
}
await Bun.sleep(SETTLE_MS)
const started = process.cpuUsage()
let [lastMs, lastCpu, going] = [performance.now(), process.threadCpuUsage(), true]
let [wallMs, turnMs] = [0, 0]
const tick = () => {
  // What other processes take of the machine is not ours, and what other threads of ours do is no turn.
  const { user, system } = process.threadCpuUsage(lastCpu)
  wallMs = Math.max(wallMs, performance.now() - lastMs)
  turnMs = Math.max(turnMs, (user + system) / 1_000)
  lastMs = performance.now()
  lastCpu = process.threadCpuUsage()
  if (going) setImmediate(tick)
}
setImmediate(tick)
await reads[process.env['BENCH_READ'] ?? '']?.()
going = false
const { user, system } = process.cpuUsage(started)
console.log(JSON.stringify({ wallMs, turnMs, cpuMs: (user + system) / 1_000 }))
process.exit(0)
