import { deriveMetadataAddress } from '../../src/chain/solana/token.ts'
import { type ServedAccounts, toFakeAddress, toServedAccount } from './kamino.ts'
import { WALLET } from './kamino_scene.ts'
import { METADATA, metadataBytes, mintBytes, TOKEN, tokenAccountBytes } from './solana_token.ts'

const SYSTEM = '11111111111111111111111111111111'
const SOL = 'So11111111111111111111111111111111111111112'
const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'
const BONK = toFakeAddress('BONK mint')
const LURE = toFakeAddress('lure mint')
const PICTURE = toFakeAddress('picture mint')

/**
 * What Kamino's wallet has itself, besides the SOL and USDC of the Orca scene: 12.5 SOL, 2 of them wrapped, 800
 * USDC, a token without a price, a lure, and a picture.
 */
export function walletScene(): ServedAccounts {
  const held = (mint: string, amount: bigint): ServedAccounts => ({
    [toFakeAddress(`account of ${mint}`)]: toServedAccount(tokenAccountBytes({ mint, owner: WALLET, amount }), TOKEN),
  })
  const token = (mint: string, decimals: number, named: { readonly symbol: string; readonly name: string }) => ({
    [mint]: toServedAccount(mintBytes({ decimals, supply: 10n ** 17n }), TOKEN),
    [deriveMetadataAddress(mint)]: toServedAccount(metadataBytes({ mint, ...named }), METADATA),
  })
  return {
    [WALLET]: { owner: SYSTEM, data: new Uint8Array(), lamports: 10_500_000_000n },
    ...held(SOL, 2_000_000_000n),
    ...held(USDC, 800_000_000n),
    ...token(BONK, 5, { symbol: 'Bonk', name: 'Bonk' }),
    ...held(BONK, 1_234_567_800_000n),
    ...token(LURE, 6, { symbol: 'GIFT', name: 'Claim at sol-gift.xyz' }),
    ...held(LURE, 5_000_000_000n),
    ...token(PICTURE, 0, { symbol: 'PIC', name: 'Picture' }),
    ...held(PICTURE, 1n),
  }
}
