import type { Envelope, Signer } from '../../../../src/lib/dsse.ts'
import { stageOver } from '../../../contract/receipt/stage.ts'
import { MARKET, OBLIGATION, SLOT, scene, WALLET } from '../../kamino_scene.ts'
import { startSolanaDouble } from '../../solana.ts'

/** Query about the obligation of the scene. */
export const KAMINO_PATHS = {
  kamino_yield: `/v1/lending/kamino/position/${OBLIGATION}/yield?wallet=${WALLET}&market_address=${MARKET}`,
  kamino_risk: `/v1/lending/kamino/position/${OBLIGATION}/risk?wallet=${WALLET}&market_address=${MARKET}`,
} as const

/** Receipts of both figures of an obligation, by the name of their file. Solana keeps no past: they are only signed. */
export async function recordKamino(signer: Signer): Promise<readonly (readonly [name: string, receipt: Envelope])[]> {
  const double = startSolanaDouble({ slot: SLOT, accounts: scene() })
  try {
    const stage = stageOver([], signer, { solanaUrl: double.url })
    return await Promise.all(
      Object.entries(KAMINO_PATHS).map(async ([name, path]) => {
        const { status, body, text } = await stage.get(`${path}&receipt=true`)
        if (status !== 200) throw new Error(`${name}: ${text}`)
        return [name, body.receipt] as const
      }),
    )
  } finally {
    await double.stop()
  }
}
