import { expect, test } from 'bun:test'
import type { Hex } from 'viem'
import { decodeLogs } from '../../../../src/family/aave_v4/event/decode.ts'
import { checkFold, foldRows, type StoredPosition } from '../../../../src/family/aave_v4/event/fold.ts'
import { createFilters, toSpokeTarget } from '../../../../src/family/aave_v4/event/log.ts'
import type { HistoryLog, LogFilter } from '../../../../src/history/stream.ts'
import { type LoggedSpoke, listLogs, readLogVectors } from '../../../devnet/aave_v4/logs.ts'

const vectors = readLogVectors()
const toLower = (address: string) => address.toLowerCase() as Hex

/** A spoke with its logs, and the wallets whose positions the vectors have. */
const worlds = vectors.spokes.map((spoke, index) => ({
  index,
  target: toSpokeTarget(
    1,
    { address: spoke.address, startBlock: 1 },
    spoke.reserves.map(({ underlying }) => toLower(underlying)),
  ),
  logs: listLogs(vectors, spoke as LoggedSpoke),
  wallets: [
    ...new Set(
      vectors.states.flatMap(({ stored }) => stored.flatMap((row) => (row[0] === index ? [toLower(row[1])] : []))),
    ),
  ],
}))

function isMatch({ topics }: HistoryLog, filters: readonly LogFilter[]): boolean {
  return filters.some((filter) =>
    filter.topics.every((wanted, index) => wanted === null || wanted.includes(topics[index] ?? '0x')),
  )
}

function toStored([supplied, drawn, premium, offset]: readonly string[]): StoredPosition {
  const [suppliedShares, drawnShares, premiumShares, premiumOffsetRay] = [supplied, drawn, premium, offset].map(
    (each) => BigInt(each ?? 0),
  ) as [bigint, bigint, bigint, bigint]
  return { suppliedShares, drawnShares, premiumShares, premiumOffsetRay }
}

type World = (typeof worlds)[number]

/** The rows of a wallet up to a block, from the logs that its filters find. */
function readRows({ target, logs }: World, wallet: Hex, toBlock: number) {
  const filters = createFilters(target, [wallet])
  const found = logs.filter((log) => log.blockNumber <= toBlock && isMatch(log, filters))
  return decodeLogs(target, found, { subjects: [wallet] }).rows
}

/** What the spoke stored of a wallet, in the order of its reserves. */
function listStored(
  { index, target }: World,
  wallet: Hex,
  at: (typeof vectors.states)[number],
): readonly StoredPosition[] {
  return target.assets.map((_, reserveId) => {
    const row = at.stored.find(([spoke, each, id]) => spoke === index && toLower(each) === wallet && id === reserveId)
    return toStored((row?.slice(3) as string[] | undefined) ?? [])
  })
}

test('the shares of a wallet’s logs are what the spoke stored, and without any one of them they are not', () => {
  const seen = { positions: 0, logs: 0 }
  for (const world of worlds) {
    for (const at of vectors.states) {
      for (const wallet of world.wallets) {
        const rows = readRows(world, wallet, at.block)
        const proof = { stored: listStored(world, wallet, at), toBlock: at.block }
        const check = (some: typeof rows) => () => checkFold(world.target, some, proof)
        expect(check(rows)).not.toThrow()
        seen.positions += proof.stored.length
        for (const place of new Set(rows.map(({ block, logIndex }) => `${block}:${logIndex}`))) {
          const others = rows.filter(({ block, logIndex }) => `${block}:${logIndex}` !== place)
          expect(check(others)).toThrow('The check "fold"')
          seen.logs += 1
        }
      }
    }
  }
  expect(seen).toEqual({ positions: 1_008, logs: 1_038 })
})

test('all wallets together have what the hub says of the spoke, to the unit', () => {
  for (const { index, target, logs } of worlds) {
    for (const { block, spokes } of vectors.states) {
      const { rows } = decodeLogs(
        target,
        logs.filter((log) => log.blockNumber <= block),
        { subjects: null },
      )
      const sum = foldRows(rows)
      for (const [spoke, reserveId, ...fields] of spokes) {
        if (spoke !== index) continue
        expect(sum.get(reserveId) ?? toStored([])).toEqual(toStored(fields))
      }
    }
  }
})

test('a reserve that the spoke does not have, and shares in one beyond those asked, are no life', () => {
  const [world] = worlds as [World]
  const [wallet] = world.wallets as [Hex]
  const rows = readRows(world, wallet, Number.MAX_SAFE_INTEGER)
  expect(() => checkFold(world.target, rows, { stored: [], toBlock: 9 })).toThrow('The check "fold"')
  const fewer = { ...world.target, assets: [] }
  expect(() => decodeLogs(fewer, world.logs, { subjects: null })).toThrow('the spoke does not have reserve')
})
