import type { ComponentChildren, InputHTMLAttributes, TargetedEvent } from 'preact'
import type { Answer } from '../lib/api.ts'
import { useSubmission } from '../lib/hooks.ts'
import type { ChangeRequest } from '../lib/submission.ts'
import { useId } from '../lib/view.ts'
import { ChangeError } from './notice.tsx'

interface FormProps<Body> {
  readonly request: ChangeRequest
  /** Sends to the plane by default. */
  readonly send?: Parameters<typeof useSubmission>[0]
  readonly onDone: (answer: Answer<Body>) => void
  readonly refused: string
  /** Shown below the fields instead of a failure. */
  readonly note?: ComponentChildren
  readonly children: ComponentChildren
}

/** Form that sends one request; its failure is shown below its fields. */
export function Form<Body>({ request, send, onDone, refused, note, children }: FormProps<Body>) {
  const { failure, isBusy, submit } = useSubmission(send)
  const onSubmit = (event: Event) => {
    event.preventDefault()
    return submit(request, onDone)
  }
  return (
    <form class="fields" onSubmit={onSubmit} aria-busy={isBusy}>
      {children}
      {failure ? (
        <div class="full">
          <ChangeError failure={failure} refused={refused} />
        </div>
      ) : (
        note
      )}
    </form>
  )
}

interface FieldProps {
  readonly label: string
  /** Class of the wrapper. */
  readonly place?: string
  /** Call `onValue` on change instead of on every key. */
  readonly late?: boolean
  readonly value: string
  readonly class?: string
  readonly type?: 'date' | 'number' | 'url'
  readonly required?: boolean
  readonly autocomplete?: 'off'
  readonly spellcheck?: boolean
  readonly inputmode?: 'decimal' | 'numeric'
  readonly maxlength?: number
  readonly size?: number
  readonly min?: number
  readonly step?: number
  readonly placeholder?: string
  readonly 'aria-describedby'?: string
  readonly onValue: (value: string) => void
}

/** Input with its label; additional properties go to the input. */
export function Field({ label, place, late = false, onValue, ...input }: FieldProps) {
  const id = useId()
  const notify = (event: TargetedEvent<HTMLInputElement>) => onValue(event.currentTarget.value)
  return (
    <p class={place}>
      <label for={id}>{label}</label>
      <input id={id} {...(input as InputHTMLAttributes)} {...(late ? { onChange: notify } : { onInput: notify })} />
    </p>
  )
}

interface ChoiceProps {
  readonly label: string
  readonly place?: string
  readonly hint?: string
  readonly value: string | undefined
  /** Values, or pairs of value and text. */
  readonly options: readonly (string | readonly [string, string])[]
  readonly onValue: (value: string) => void
}

/** Select with its label, and a hint behind it. */
export function Choice({ label, place, value, options, hint, onValue }: ChoiceProps) {
  const id = useId()
  return (
    <p class={place}>
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
        {options.map((each) =>
          typeof each === 'string' ? <option value={each}>{each}</option> : <option value={each[0]}>{each[1]}</option>,
        )}
      </select>
      {hint && (
        <>
          {' '}
          <span class="soft">{hint}</span>
        </>
      )}
    </p>
  )
}

interface SliderProps {
  readonly label: string
  readonly min: number
  readonly max: number
  readonly step: number
  readonly value: number
  readonly text: string
  readonly onValue: (value: number) => void
}

/** Slider with its label and its value as text. */
export function Slider({ label, min, max, step, value, text, onValue }: SliderProps) {
  const id = useId()
  return (
    <p class="slider">
      <label for={id}>{label}</label>
      <output for={id}>{text}</output>
      <input
        type="range"
        id={id}
        min={min}
        max={max}
        step={step}
        value={value}
        aria-valuetext={text}
        onInput={(event) => onValue(Number(event.currentTarget.value))}
      />
    </p>
  )
}
