import { encodeAbiParameters, type Hex } from 'viem'
import { BANK, type DevnetToken } from '../addresses.ts'
import { ownCreationCode } from '../artifacts.ts'
import { fundBank, tokenCreationCode } from '../contracts.ts'
import { placeContractsAt } from '../place.ts'
import type { Rpc } from '../rpc.ts'
import type { Send } from '../transaction.ts'
import { AAVE_TOKENS } from './addresses.ts'

const PRICE_DECIMALS = 8

/** Puts the tokens that only Aave's markets know at their addresses, with their feeds, and funds the bank. */
export async function placeTokens(tools: { readonly rpc: Rpc; readonly send: Send }): Promise<void> {
  const tokens: DevnetToken[] = Object.values(AAVE_TOKENS)
  const placements = tokens.flatMap((token) => [
    {
      address: token.address,
      creationCode: token === AAVE_TOKENS.mkr ? ownCreationCode('Bytes32Token') : tokenCreationCode(token),
    },
    { address: token.feed, creationCode: feedCreationCode(token) },
  ])
  await placeContractsAt(tools, { placements, owner: BANK })
  await tools.send(tokens.flatMap(({ address }) => fundBank(address)))
}

function feedCreationCode({ symbol, usd }: DevnetToken): Hex {
  return ownCreationCode(
    'Feed',
    encodeAbiParameters(
      [{ type: 'uint8' }, { type: 'string' }, { type: 'int256' }],
      [PRICE_DECIMALS, `${symbol} / USD`, BigInt(Math.round(usd * 10 ** PRICE_DECIMALS))],
    ),
  )
}
