import { LENS_MODES, type LensMode } from '../../../src/chain/call/lens.ts'

/** A way of running a lens, or the second opinion: the same asked of the contracts themselves, in stages of calls. */
export type Opinion = LensMode | 'staged'

/** Every one of them. */
export const OPINIONS: readonly Opinion[] = [...LENS_MODES, 'staged']
