import type { PreparedAnswer } from '../respond.ts'

/** A page that does not require a key. */
export type Page = (requestId: string, request: Request) => PreparedAnswer | Promise<PreparedAnswer>

export type Pages = ReadonlyMap<string, Page>
