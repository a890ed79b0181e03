import { afterAll, beforeEach, expect, test } from 'bun:test'
import { examineSolana } from '../../../../src/command/doctor/evm.ts'
import { createPriceMarket } from '../../../../src/finance/price/table/kamino.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { KLEND } from '../../../support/kamino.ts'
import { type Fault, startSolanaDouble } from '../../../support/solana.ts'
import { slowClock } from '../../../support/test_clock.ts'

const double = startSolanaDouble()

beforeEach(() => {
  double.ofMethod.clear()
  double.always = undefined
  double.seen.length = 0
})

afterAll(() => double.stop(), 60_000)

async function examined(): Promise<Record<string, string>> {
  const asked = { clock: slowClock, log: silentLog, work: createWork(new AbortController().signal) }
  const findings = await examineSolana(
    {
      rpcUrls: [double.url],
      maxSlotAgeSec: 60,
      slotMs: 400,
      explorer: 'https://explorer.solana.com',
      priceMarket: createPriceMarket(),
    },
    0,
    asked,
  )
  expect(JSON.stringify(findings)).not.toMatch(/solana-secret|upstream text/)
  for (const { verdict, cost } of findings) expect(cost === undefined).toBe(verdict === 'good')
  return Object.fromEntries(findings.map(({ check, verdict, found }) => [check, `${verdict}: ${found}`]))
}

test('the abilities of a Solana endpoint are found: token accounts and program search', async () => {
  expect(await examined()).toMatchObject({
    answers: expect.stringMatching(/^good: in \d+ ms$/),
    'token accounts': 'good: listed',
    'program search': 'good: yes',
  })
  expect(double.seen.map(({ method }) => method)).toEqual([
    'getMultipleAccounts',
    'getTokenAccountsByOwner',
    'getProgramAccounts',
  ])
  // The program that the lists search, narrowed as they do.
  expect(double.seen[2]).toMatchObject({ addresses: [KLEND], filter: [{ dataSize: 3344 }, {}, {}] })
})

test.each([
  ['getTokenAccountsByOwner', 'token accounts', { kind: 'rpc', code: 410 }, 'lack: refused'],
  ['getProgramAccounts', 'program search', { kind: 'http', status: 403 }, 'lack: refused'],
  ['getProgramAccounts', 'program search', { kind: 'http', status: 500 }, 'lack: no answer in time'],
] satisfies readonly (readonly [string, string, Fault, string])[])(
  '%s may be lacking',
  async (method, check, fault, found) => {
    double.ofMethod.set(method, fault)
    const findings = await examined()
    expect(findings[check]).toBe(found)
    expect(findings['answers']).toStartWith('good')
  },
)

test('a Solana endpoint that does not answer gets no further requests', async () => {
  double.always = { kind: 'http', status: 401 }
  expect(await examined()).toEqual({ answers: 'failed: The endpoint answered HTTP 401' })
  expect(double.seen.length).toBe(1)
})
