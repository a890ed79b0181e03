import { afterAll, beforeAll, expect, test } from 'bun:test'
import { toHex } from 'viem'
import { createChainClient, type EvmClient } from '../../../src/chain/evm/evm_client.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createChainReports } from '../../../src/operator/report.ts'
import { type Anvil, startAnvil } from '../../devnet/anvil.ts'
import { createRpc } from '../../devnet/rpc.ts'
import { createHurriedClock } from '../../support/test_clock.ts'
import { waitFor } from '../../support/wait_for.ts'

const BLOCKS = 130
const SECRET = 'rpc-secret'

let anvil: Anvil
let client: EvmClient

beforeAll(async () => {
  anvil = await startAnvil()
  client = createChainClient({
    chain: {
      id: 1,
      name: 'Ethereum',
      reuseMs: 0,
      finality: { depth: 0 },
      rpcUrls: [anvil.rpcUrl, `http://127.0.0.1:9/${SECRET}`],
    },
    clock: createHurriedClock(),
    log: silentLog,
  })
}, 60_000)

afterAll(async () => {
  client.close()
  await anvil.stop()
}, 60_000)

test('each endpoint shows its head, its lag, its errors and how far back it keeps state, by place', async () => {
  const rpc = createRpc(anvil.rpcUrl)
  await rpc.call('anvil_mine', toHex(BLOCKS))
  const read = createChainReports(
    { evm: new Map([[1, client]]), solana: undefined },
    { probes: new Map([[1, (work) => client.ready(work)]]), clock: systemClock },
  )
  await client.findUnresponsive()
  const [first] = await read()
  expect(first).toMatchObject({ chain_id: 1, name: 'Ethereum', ready: true })
  expect(first?.endpoints[0]).toMatchObject({ head_block: BLOCKS, lag_blocks: 0, behind: false, errors: 0 })
  expect(first?.endpoints[0]?.head_age_sec).toBeLessThan(3_600)
  expect(first?.endpoints[1]).toMatchObject({
    head_block: null,
    head_age_sec: null,
    lag_blocks: null,
    state_depth: null,
  })
  expect(first?.endpoints[1]?.errors).toBeGreaterThan(0)
  // Asked in the background: the page shows it when it looks again.
  await waitFor('its depth is known', async () => (await read())[0]?.endpoints[0]?.state_depth === 'all')
  expect(JSON.stringify(await read())).not.toContain(SECRET)
}, 60_000)
