import type { ListedTokenAccount } from '../../../chain/solana/searches.ts'

/** What a token may stand for in one of the programs. */
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
  /** If it has no token of its own. */
  readonly bundle: { readonly address: string; readonly place: number } | undefined
}

/** `brief` is enough to list and count a position; `full` has what its figures need. */
export type ReadDepth = 'brief' | 'full'

/** What a position is called in answers: the mint of its token or, without one of its own, its address. */
export function getTokenId({ address, held, bundle }: Pick<PositionItem, 'address' | 'held' | 'bundle'>): string {
  return bundle === undefined ? held.mint : address
}

/** The order of positions in answers: by program, then id, as text. */
export function comparePositions(a: PositionItem, b: PositionItem): number {
  if (a.program !== b.program) return a.program < b.program ? -1 : 1
  return getTokenId(a) < getTokenId(b) ? -1 : 1
}
