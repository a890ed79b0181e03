import type { Database } from '../../../src/db/database.ts'
import { printNote, printTable } from '../table.ts'
import { type Scan, scanLongChain } from './scan.ts'

/**
 * Three years of Aave V3's main market. How much happens there is an assumption, on the high side for the whole three
 * years; adjust these lines to better estimates.
 */
const CHAINS = [
  { name: 'Ethereum', blocks: 7_900_000, actsADay: 8_000, sampleBlocks: 40_000 },
  { name: 'Base', blocks: 47_300_000, actsADay: 25_000, sampleBlocks: 80_000 },
] as const
const DAYS = 3 * 365
/** A pool's own log, its token's, and the reserve's new rates. The double makes two logs an act, so it makes more acts. */
const LOGS_PER_ACT = 3

/** Endpoints: the longest range, the most logs of an answer, and requests a second that they allow (0: any). */
const ENDPOINTS = [
  { name: 'public, capped', cap: 10_000, logsMax: 10_000, perSecond: 5 },
  { name: 'wide', cap: 0, logsMax: 10_000, perSecond: 25 },
  { name: "one's own node", cap: 0, logsMax: 100_000, perSecond: 0 },
] as const

/**
 * Requests, hours and gigabytes that the global history takes, with the arithmetic. The search for the right length of
 * a range comes once, so what is extrapolated is the difference between a sample and its half, both of one density.
 */
export async function printOutlook(db: Database, { quick }: { readonly quick: boolean }): Promise<void> {
  const rows: string[][] = []
  const sums: string[] = []
  for (const { name, blocks, actsADay, sampleBlocks } of CHAINS) {
    const logsPerBlock = (actsADay * LOGS_PER_ACT * DAYS) / blocks
    for (const { name: endpoint, cap, logsMax, perSecond } of ENDPOINTS) {
      const sampled = quick ? sampleBlocks / 8 : sampleBlocks
      const chain = { chainId: 31_337, actsPerBlock: logsPerBlock / 2, wallets: 10_000, cap, logsMax }
      const half = await scanLongChain(db, { ...chain, blocks: sampled / 2 + 10 })
      const scan = await scanLongChain(db, { ...chain, blocks: sampled + 10 })
      const times = (blocks - sampled) / (sampled / 2)
      const requests = scan.requests + times * (scan.requests - half.requests)
      const workHours = (scan.ms + times * (scan.ms - half.ms)) / 3_600_000
      const rateHours = perSecond === 0 ? 0 : requests / perSecond / 3_600
      const bytesARow = scan.bytes / scan.rows
      const gigabytes = (actsADay * DAYS * bytesARow) / 1e9
      rows.push([
        ...[name, endpoint, requests.toFixed(0), Math.max(workHours, rateHours).toFixed(2), gigabytes.toFixed(1)],
      ])
      sums.push(
        `${name}, ${endpoint}: ${sampled / 2} blocks took ${describe(half)}, ${sampled} took ${describe(scan)}; that and ${times.toFixed(1)} times the difference are ${requests.toFixed(0)} requests, ${workHours.toFixed(2)} h of work${perSecond === 0 ? '' : `, ${rateHours.toFixed(2)} h at ${perSecond} requests a second`}; ${actsADay} × ${DAYS} rows × ${bytesARow.toFixed(0)} B`,
      )
    }
  }
  printTable(['three years', 'endpoint', 'requests', 'hours', 'GB stored'], rows)
  printNote(sums.map((each) => `- ${each}`).join('\n'))
  printNote(`Assumed: ${LOGS_PER_ACT} logs for each act; every block is read twice`)
}

function describe({ requests, refused, logs, ms }: Scan): string {
  return `${requests} requests (${refused} refused), ${logs} logs, ${ms.toFixed(0)} ms`
}
