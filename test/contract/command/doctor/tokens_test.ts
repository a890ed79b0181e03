import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Address } from 'viem'
import { examineTokens } from '../../../../src/command/doctor/doctor.ts'
import { createTokenList } from '../../../../src/finance/token/list/list.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { okFinding, warningFinding } from '../../../../src/lib/finding.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { TOKENS, toWalletAddress } from '../../../devnet/addresses.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../../devnet/mod.ts'
import { slowClock } from '../../../support/test_clock.ts'
import { createCode, deploy } from '../../finance/token/balance/world.ts'

const COST = 'they do not appear in portfolios'
/** `OddBalance` that reverts, and that burns all gas. */
const SILENT = [1, 0]

let devnet: Devnet
let silent: readonly Address[]

beforeAll(async () => {
  devnet = await startDevnet({ chainId: 10 })
  silent = await deploy(
    devnet,
    SILENT.map((kind) => createCode('OddBalance', kind)),
  )
}, 60_000)
afterAll(() => devnet?.stop())

/** What is found out about these tokens of the operator over the second endpoint, and how many there are in all. */
async function examined(addresses: readonly Address[], rpcUrl = devnet.rpcUrl) {
  const chain = createDevnetChain(devnet, { rpcUrls: ['http://127.0.0.1:1/path-secret', rpcUrl] })
  const tokens = createTokenList({ ...chain, id: 0 }, addresses.length === 0 ? [] : [{ name: 'mine', addresses }])
  const examination = { clock: slowClock, log: silentLog, work: createWork(AbortSignal.timeout(30_000)) }
  return { count: tokens.addresses.length, found: await examineTokens({ ...chain, tokens }, { index: 1 }, examination) }
}

test('tokens of the operator without a contract or a balance are named, and the others counted', async () => {
  const { usdc, weth } = TOKENS
  const plain = await examined([])
  expect(plain.found).toEqual([okFinding('tokens', `${plain.count} listed`)])
  const fine = await examined([usdc.address, weth.address, usdc.address])
  expect(fine.found).toEqual([
    okFinding('tokens', `${fine.count} listed; of 2 in TOKEN_LISTS and CHAINS_FILE all answer`),
  ])
  const absent = toWalletAddress('no token')
  const dead = await examined([absent, usdc.address, ...silent])
  const said = `${absent} (no contract), ${silent.map((token) => `${token} (no balance)`).join(', ')}`
  expect(dead.found).toEqual([
    warningFinding('tokens', `${dead.count} listed; of 4 in TOKEN_LISTS and CHAINS_FILE 3 do not: ${said}`, COST),
  ])
  const many = await examined(Array.from({ length: 200 }, (_, index) => toWalletAddress(`no token ${index}`)))
  expect(many.found[0]?.found).toStartWith(`${many.count} listed; of the first 150 of 200 in`)
  expect(many.found[0]?.found).toEndWith('and 145 more')
})

test('a failing endpoint is not blamed on a token', async () => {
  const { found } = await examined([TOKENS.usdc.address], 'http://127.0.0.1:1/path-secret')
  expect(found).toEqual([
    warningFinding('tokens', expect.stringContaining('Cannot read chain 10'), 'unknown which of them answer'),
  ])
})
