import type { ListedTokenAccount } from '../../../chain/solana/searches.ts'

/** Account of one of the programs that a token may stand for. */
export interface TokenSubject {
  readonly kind: 'position' | 'bundle'
  readonly program: string
  readonly address: string
}

/** The account in which a wallet holds a token of one unit. */
export type PositionToken = Pick<ListedTokenAccount, 'address' | 'program' | 'mint'>

/** A position that a wallet's token stands for. */
export interface PositionItem {
  readonly program: string
  readonly address: string
  readonly held: PositionToken
  /** Defined for a position in a bundle, which has no token of its own. */
  readonly bundle: { readonly address: string; readonly index: number } | undefined
}

/** `brief` suffices to list and count a position; `full` adds the inputs of its figures. */
export type ReadDepth = 'brief' | 'full'

/** Gets the id of a position in answers: the mint of its token or, for a bundled position, its address. */
export function getTokenId({ address, held, bundle }: Pick<PositionItem, 'address' | 'held' | 'bundle'>): string {
  return bundle === undefined ? held.mint : address
}

/** Compares positions in the order of answers: by program, then id, as text. */
export function comparePositions(a: PositionItem, b: PositionItem): number {
  if (a.program !== b.program) return a.program < b.program ? -1 : 1
  return getTokenId(a) < getTokenId(b) ? -1 : 1
}
