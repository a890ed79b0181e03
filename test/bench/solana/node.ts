/**
 * A stand-in for Solana in a process of its own: wallets with an obligation each, one with an Orca position, and one
 * with 500 tokens that stand for nothing. One command a line on stdin, one line of JSON back.
 */
import { base58 } from '@scure/base'
import { deriveProgramAddress } from '../../../src/chain/solana/program_address.ts'
import {
  KLEND,
  obligationBytes,
  type ServedAccounts,
  SF,
  toFakeAddress,
  toServedAccount,
} from '../../support/kamino.ts'
import { MARKET, SLOT, SOL, scene, USDC } from '../../support/kamino_scene.ts'
import { orcaScene } from '../../support/orca_scene.ts'
import { countSequentialRequests, startSolanaDouble } from '../../support/solana.ts'
import { TOKEN, tokenAccountBytes } from '../../support/solana_token.ts'
import { COLLECTOR, type SolanaCommand, type SolanaCounts, toWallet } from './words.ts'

const WALLETS = 500
const TOKENS = 500
/** Longer rows are not counted: each request is compared with all before it. */
const COUNTED_MAX = 200

function accounts(): ServedAccounts {
  const own: Record<string, ServedAccounts[string]> = {}
  for (let index = 0; index < WALLETS; index++) {
    const owner = toWallet(index)
    const keys = [base58.decode(owner), base58.decode(MARKET), new Uint8Array(32), new Uint8Array(32)]
    const deposits = [{ reserve: SOL, collateralAmount: 10n ** 9n * BigInt(1 + index) }]
    const borrows = [{ reserve: USDC, amountSf: 10n ** 6n * SF * BigInt(1 + index) }]
    const address = deriveProgramAddress(KLEND, [Uint8Array.of(0), Uint8Array.of(0), ...keys])
    own[address] = toServedAccount(obligationBytes({ market: MARKET, owner, deposits, borrows }))
  }
  for (let index = 0; index < TOKENS; index++) {
    const token = tokenAccountBytes({ mint: toFakeAddress(`token ${index}`), owner: COLLECTOR, amount: 1n })
    own[toFakeAddress(`account of token ${index}`)] = toServedAccount(token, TOKEN)
  }
  return { ...scene(), ...orcaScene(), ...own }
}

const double = startSolanaDouble({ slot: SLOT, accounts: accounts() })
console.log(JSON.stringify({ url: double.url }))

for await (const line of console) {
  if (line === '') continue
  const requests = double.seen.length
  console.log(
    JSON.stringify({
      requests,
      row: requests > COUNTED_MAX ? 0 : countSequentialRequests(double),
    } satisfies SolanaCounts),
  )
  const { latencyMs, refuses } = JSON.parse(line) as SolanaCommand
  double.latencyMs = latencyMs
  double.seen.length = 0
  double.ofMethod.clear()
  if (refuses) double.ofMethod.set('getProgramAccounts', { kind: 'rpc', code: -32601 })
}
