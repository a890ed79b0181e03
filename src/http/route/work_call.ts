import type { PreparedChange } from './change.ts'
import { computeCredits, getUnitCredits } from './charge.ts'
import {
  getRequestedReceipt,
  getRequestedTimeSec,
  type ReceiptKind,
  receiptBudgetMs,
  receiptCredits,
} from './receipt.ts'
import type { Answer, ChangingWork, ChargedWork, PresentContext, ReadContext, Reply, RouteCall } from './route.ts'

/**
 * A valid input and its work. A class, like the answer, because a literal would allocate functions for each request.
 */
export class WorkCall<Input extends object, Result> implements RouteCall {
  readonly creditsMin: number
  readonly budgetMs: number | undefined
  readonly receipt: ReceiptKind | undefined
  readonly restsOnLogs: boolean
  readonly atTimeSec: number | undefined
  readonly #work: ChargedWork<Input, Result>
  readonly #input: Input

  constructor(work: ChargedWork<Input, Result>, input: Input) {
    this.receipt = getRequestedReceipt(input)
    this.creditsMin = getUnitCredits(work.charge, input) + receiptCredits(this.receipt)
    this.budgetMs = receiptBudgetMs(this.receipt) ?? work.budgetMs
    this.restsOnLogs = work.uncovered?.isAny(input) ?? false
    this.atTimeSec = getRequestedTimeSec(input)
    this.#work = work
    this.#input = input
  }

  async read(context: ReadContext): Promise<Answer> {
    const { charge, count, untilMs, uncovered } = this.#work
    const result = await this.#work.read(this.#input, context)
    const units = count === undefined ? 1 : count(result, this.#input)
    const credits = computeCredits(charge, this.#input, units) + receiptCredits(this.receipt)
    if (!Number.isSafeInteger(credits) || credits < 0) throw new Error(`Cannot charge ${credits} credits`)
    const answer = new WorkAnswer(this, result, { credits, untilMs: untilMs?.(result, this.#input) ?? 0 })
    if (!context.isStateOnly || !this.restsOnLogs) return answer
    return { ...answer, present: (presenting) => answer.present(presenting), uncovered: uncovered?.paths(result) ?? [] }
  }

  present(result: Result, context: PresentContext): Reply {
    return this.#work.present(result, this.#input, context)
  }
}

/** A valid input and the change that it asks for. */
export class ChangeCall<Input extends object> implements RouteCall {
  readonly creditsMin: number
  readonly budgetMs: number | undefined
  readonly receipt = undefined
  readonly restsOnLogs = false
  readonly atTimeSec = undefined
  readonly #work: ChangingWork<Input>
  readonly #input: Input

  constructor(work: ChangingWork<Input>, input: Input) {
    this.creditsMin = getUnitCredits(work.charge, input)
    this.budgetMs = work.budgetMs
    this.#work = work
    this.#input = input
  }

  async read(): Promise<never> {
    throw new Error(`Cannot read ${this.#work.path}: it changes data`)
  }

  async prepare(context: ReadContext): Promise<PreparedChange> {
    const change = await this.#work.prepare(this.#input, context)
    return { change, credits: this.creditsMin, present: await this.#work.presenter() }
  }
}

class WorkAnswer<Input extends object, Result> implements Answer {
  readonly credits: number
  readonly untilMs: number
  readonly #call: WorkCall<Input, Result>
  readonly #result: Result

  constructor(
    call: WorkCall<Input, Result>,
    result: Result,
    { credits, untilMs }: Pick<Answer, 'credits' | 'untilMs'>,
  ) {
    this.credits = credits
    this.untilMs = untilMs
    this.#call = call
    this.#result = result
  }

  present(context: PresentContext): Reply {
    return this.#call.present(this.#result, context)
  }
}
