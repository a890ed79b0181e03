import { collectFormulas } from './collect.ts' with { type: 'macro' }
import type { Formula } from './collect.ts'

/** How every figure is calculated. */
export const FORMULAS: readonly Formula[] = collectFormulas()
