import { afterAll, expect, test } from 'bun:test'
import { createSolanaClient } from '../../../../../src/chain/solana/client.ts'
import { getScopePrices } from '../../../../../src/finance/price/scope.ts'
import { KAMINO_MAINNET } from '../../../../../src/finance/price/table/kamino.ts'
import { createWork } from '../../../../../src/lib/async/work.ts'
import { systemClock } from '../../../../../src/lib/clock.ts'
import { silentLog } from '../../../../../src/lib/log.ts'
import { MARKET, SLOT, SOL, scene, USDC } from '../../../../support/kamino_scene.ts'
import { startSolanaDouble } from '../../../../support/solana.ts'

const double = startSolanaDouble({ slot: SLOT, accounts: scene() })
afterAll(() => double.stop(), 60_000)

const connected = () =>
  createSolanaClient({ rpcUrls: [double.url], maxSlotAgeSec: 60, slotMs: 400, clock: systemClock, log: silentLog })
const createMarket = (...reserves: string[]) => ({ market: { market: MARKET, reserves }, kamino: KAMINO_MAINNET })
const work = createWork(new AbortController().signal)

test('all readers of one market over one client share one read of its reserves, even concurrently', async () => {
  const solana = connected()
  const [first, second] = [createMarket(SOL, USDC), createMarket(SOL, USDC)].map((market) =>
    getScopePrices(solana, market),
  )
  if (first === undefined || second === undefined) throw new Error('There are two')
  expect([first.isReady(), second.isReady()]).toEqual([false, false])
  await solana.read((session) => Promise.all([first.prepare(session), second.prepare(session)]), { work })
  expect([first.isReady(), second.isReady(), double.seen.length]).toEqual([true, true, 1])
  await solana.read((session) => second.prepare(session), { work })
  expect(double.seen.length).toBe(1)
  solana.close()
})

test('other reserves and other clients have prices of their own', () => {
  const [solana, other] = [connected(), connected()]
  const prices = getScopePrices(solana, createMarket(SOL))
  expect(getScopePrices(solana, createMarket(SOL))).toBe(prices)
  expect(getScopePrices(solana, createMarket(SOL, USDC))).not.toBe(prices)
  expect(getScopePrices(other, createMarket(SOL))).not.toBe(prices)
  solana.close()
  other.close()
})
