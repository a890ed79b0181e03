import { toFakeAddress } from '../../support/kamino.ts'

/** Command of the stand-in: how long its answers take from now on, and whether it refuses to search programs. */
export interface SolanaCommand {
  readonly latencyMs: number
  readonly refuses: boolean
}

/** Reply to every command: requests since the previous command, and how many of them waited for each other. */
export interface SolanaCounts {
  readonly requests: number
  readonly row: number
}

/** The wallet of 500 tokens that stand for no position. */
export const COLLECTOR = toFakeAddress('collector')

/** A wallet with one obligation. */
export const toWallet = (index: number): string => toFakeAddress(`wallet ${index}`)
