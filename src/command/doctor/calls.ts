import type { Hex } from 'viem'
import { callByOverride } from '../../chain/call/bundle/bundle.ts'
import { callDeployless } from '../../chain/call/deployless.ts'
import type { Endpoint } from '../../chain/rpc/client.ts'
import { parseQuantity } from '../../chain/rpc/value.ts'
import { type Finding, failureFinding, okFinding, warningFinding } from '../../lib/finding.ts'
import { tryAnswer } from './past.ts'

/** Answers the gas that is left: GAS, PUSH1 0, MSTORE, PUSH1 32, PUSH1 0, RETURN. */
const GAS_LEFT: Hex = '0x5a60005260206000f3'
/** With less a long list takes more pages: geth's own limit is 50 million, that of many providers far higher. */
const GAS_WANTED = 25_000_000n

/**
 * Whether calls can run code that is not deployed, in either way, and with how much gas. Every lens is called in one of
 * these ways, so none of them is examined alone.
 */
export async function examineCalls(endpoint: Endpoint, signal: AbortSignal): Promise<readonly Finding[]> {
  const call = { runtime: GAS_LEFT, data: '0x', block: 'latest' } as const
  const override = await tryAnswer(callByOverride(endpoint, call, signal).then(parseQuantity), signal)
  const deployless = await tryAnswer(callDeployless(endpoint, call, signal).then(parseQuantity), signal)
  const gas = override ?? deployless
  if (gas === undefined) {
    return [failureFinding('calls', 'neither state override nor calls without an address', 'nothing is read from it')]
  }
  return [
    override === undefined
      ? warningFinding('state override', 'no', 'a list takes three to ten requests in place of one')
      : okFinding('state override', 'yes'),
    deployless === undefined
      ? warningFinding('deployless calls', 'no', 'if state override fails there is no other way to read')
      : okFinding('deployless calls', 'yes'),
    gas < GAS_WANTED
      ? warningFinding('gas of a call', millions(gas), 'long lists take more requests')
      : okFinding('gas of a call', millions(gas)),
  ]
}

function millions(gas: bigint): string {
  return gas > 10n ** 12n ? 'without a limit' : `${Number(gas / 100_000n) / 10} million`
}
