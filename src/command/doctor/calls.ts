import type { Hex } from 'viem'
import { callByOverride } from '../../chain/call/bundle/bundle.ts'
import { callDeployless } from '../../chain/call/deployless.ts'
import type { Endpoint } from '../../chain/rpc/client.ts'
import { parseQuantity } from '../../chain/rpc/value.ts'
import { type Finding, failureFinding, okFinding, warningFinding } from '../../lib/finding.ts'
import { tryAnswer } from './past.ts'

/** Code that returns the remaining gas: GAS, PUSH1 0, MSTORE, PUSH1 32, PUSH1 0, RETURN. */
const GAS_LEFT: Hex = '0x5a60005260206000f3'
/** Below this limit, long lists take more pages: geth's own limit is 50 million, many providers allow far more. */
const GAS_RECOMMENDED = 25_000_000n

/**
 * Examines whether calls can run code that is not deployed, by state override or without an address, and with how much
 * gas. Every lens is called in one of these ways, so no lens is examined by itself.
 */
export async function examineCalls(endpoint: Endpoint, signal: AbortSignal): Promise<readonly Finding[]> {
  const call = { runtime: GAS_LEFT, data: '0x', block: 'latest' } as const
  const override = await tryAnswer(callByOverride(endpoint, call, signal).then(parseQuantity), signal)
  const deployless = await tryAnswer(callDeployless(endpoint, call, signal).then(parseQuantity), signal)
  const gas = override ?? deployless
  if (gas === undefined) {
    return [failureFinding('calls', 'neither state override nor calls without an address', 'unusable')]
  }
  return [
    override === undefined
      ? warningFinding('state override', 'no', 'a list takes three to ten requests instead of one')
      : okFinding('state override', 'yes'),
    deployless === undefined
      ? warningFinding('deployless calls', 'no', 'no fallback if state override fails')
      : okFinding('deployless calls', 'yes'),
    gas < GAS_RECOMMENDED
      ? warningFinding('gas of a call', formatMillions(gas), 'long lists take more requests')
      : okFinding('gas of a call', formatMillions(gas)),
  ]
}

function formatMillions(gas: bigint): string {
  return gas > 10n ** 12n ? 'without a limit' : `${Number(gas / 100_000n) / 10} million`
}
