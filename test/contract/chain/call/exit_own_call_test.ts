import { expect, test } from 'bun:test'
import { type Hex, size } from 'viem'
import { callUnits } from '../../../../src/chain/call/exit/own_call.ts'
import type { ExitUnit } from '../../../../src/chain/call/exit/step.ts'
import { readLatestBlock } from '../../../../src/chain/evm/read_block.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { systemClock as clock } from '../../../../src/lib/clock.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'
import { createRpc } from '../../../devnet/rpc.ts'
import { useFaultyChain } from '../../../support/endpoint.ts'

const never = createWork(new AbortController().signal)
const REVERTS_10000_BYTES: Hex = '0x6127105ffd'
const LOOPS: Hex = '0x5b600056'
const ANSWERS: Hex = '0x60205ff3'

const chain = useFaultyChain()

test('what a protocol reverts with is cut, and one that uses up its gas is too costly alone', async () => {
  const units: ExitUnit[] = []
  for (const [index, code] of [REVERTS_10000_BYTES, LOOPS, ANSWERS].entries()) {
    const to = toWalletAddress(`protocol ${index}`)
    await createRpc(chain.anvil.rpcUrl).call('anvil_setCode', to, code)
    const steps = [{ tokens: [], calls: [{ to, data: '0x' as const }] }]
    units.push({
      steps,
      ownCall: { to, encode: () => '0x', decode: () => [{ kind: 'done', deltas: [], lent: undefined }] },
    })
  }
  const block = await readLatestBlock(chain.endpoint, 1, never)
  const query = { wallet: toWalletAddress('asks'), units, lenders: [], block, clock, untilMs: Number.POSITIVE_INFINITY }
  const results = await callUnits(chain.endpoint, query, never)
  expect(results).toMatchObject([
    { kind: 'run', steps: [{ kind: 'reverted' }] },
    { kind: 'too_costly' },
    { kind: 'run', steps: [{ kind: 'done' }] },
  ])
  const [reverted] = results.flatMap((each) => (each.kind === 'run' ? each.steps : []))
  expect(reverted?.kind === 'reverted' && size(reverted.reason)).toBe(255)
})
