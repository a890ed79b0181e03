import { beforeAll, expect, test } from 'bun:test'
import { examineContracts } from '../../../../src/command/doctor/doctor.ts'
import { AAVE_V3 } from '../../../../src/family/aave_v3/mod.ts'
import { MORPHO_BLUE } from '../../../../src/family/morpho_blue/mod.ts'
import { UNISWAP_V3 } from '../../../../src/family/uniswap_v3/mod.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { okFinding, warningFinding } from '../../../../src/lib/finding.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { sharedAave } from '../../../devnet/aave_v3/shared.ts'
import { UNISWAP_V3 as CONTRACTS, toWalletAddress } from '../../../devnet/addresses.ts'
import { createDevnetChain, DEVNET_ROW } from '../../../devnet/chain.ts'
import type { Devnet } from '../../../devnet/mod.ts'
import { slowClock } from '../../../support/test_clock.ts'

const EMPTY = toWalletAddress('no contract')
const SILENT = {
  uniswapV3: [...DEVNET_ROW.uniswapV3, { manager: EMPTY, factory: CONTRACTS.factory }],
  aaveV3: [...DEVNET_ROW.aaveV3, { market: 'ghost', poolAddressesProvider: EMPTY }],
  morphoBlue: { morpho: EMPTY },
}
let devnet: Devnet

beforeAll(async () => {
  devnet = (await sharedAave()).devnet
}, 120_000)

/** What is found out about the chain over its second endpoint. */
function examined(row: object, rpcUrl = devnet.rpcUrl) {
  const families = [UNISWAP_V3, AAVE_V3, MORPHO_BLUE].map((family) => family.configure(new Map([[1, row]])))
  const examination = { clock: slowClock, log: silentLog, work: createWork(AbortSignal.timeout(30_000)) }
  const chain = createDevnetChain(devnet, { rpcUrls: ['http://127.0.0.1:1/path-secret', rpcUrl] })
  return examineContracts(chain, { index: 1, families }, examination)
}

test('every required contract that does not answer is named', async () => {
  expect(await examined(SILENT)).toEqual([
    warningFinding(
      'contracts',
      `position manager ${EMPTY} does not answer, market "ghost" does not answer in US dollars, ` +
        'its Morpho contract does not answer',
      'requests that do not exclude it with a parameter are 503',
    ),
  ])
})

test('working contracts are only counted, and a failing endpoint is not blamed on a contract', async () => {
  const { morphoBlue: _, ...row } = SILENT
  const answering = { ...row, uniswapV3: DEVNET_ROW.uniswapV3, aaveV3: DEVNET_ROW.aaveV3 }
  const families = [UNISWAP_V3, AAVE_V3].map((family) => family.configure(new Map([[1, answering]])))
  const examination = { clock: slowClock, log: silentLog, work: createWork(AbortSignal.timeout(30_000)) }
  const asked = { index: 0, families }
  expect(await examineContracts(createDevnetChain(devnet), asked, examination)).toEqual([
    okFinding('contracts', 'all 4 answer'),
  ])
  const dead = createDevnetChain(devnet, { rpcUrls: ['http://127.0.0.1:1/path-secret'] })
  const [finding] = await examineContracts(dead, asked, examination)
  expect(finding).toMatchObject({ verdict: 'lack', found: expect.stringContaining('Cannot read chain 1 (Devnet)') })
})
