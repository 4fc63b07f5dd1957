import { signal } from '@preact/signals-core'
import { BehaviorSubject, Subject } from 'rxjs'
import { expect, test } from 'vitest'
import { createStore } from 'zustand/vanilla'
import machine from '../../examples/services/machine.ts'
import observable from '../../examples/services/observable.ts'
import signals from '../../examples/services/signals.ts'
import store from '../../examples/services/store.ts'
import {
  fromObservable,
  fromSignal,
  fromStore,
  type Service,
  serviceSource,
} from '../../src/index.ts'
import { serveHere } from '../support/serve-here.ts'

async function serve(service: Service) {
  const { bridge } = await serveHere({ sources: [serviceSource(service, { id: 'it' })] })
  const names = async () => (await bridge.list()).tools.map(({ name }) => name)
  const state = async () => (await bridge.call('get_state')).structuredContent
  return { bridge, names, state }
}

test('the events of a state machine are actions, and its guards control their availability', async () => {
  const { bridge, names, state } = await serve(machine)

  expect(await names()).toEqual(['get_state', 'open'])
  await bridge.call('open')
  expect(await names()).toEqual(['close', 'get_state'])
  expect(await state()).toEqual({ state: 'opened', context: { opened: 1 } })
  await bridge.call('close')
  expect(await names()).toEqual(['get_state', 'lock', 'open'])
  await bridge.call('lock')
  // The guard of unlock depends on the event data, so it is evaluated at call time.
  expect(await names()).toEqual(['get_state', 'unlock'])
  expect((await bridge.call('unlock', { code: '0000' })).isError).toBe(true)
  expect((await state()) as object).toMatchObject({ state: 'locked' })
  expect((await bridge.call('unlock', { code: '1234' })).isError).toBe(false)
  expect((await state()) as object).toMatchObject({ state: 'closed' })
})

test('fromStore makes a service from a store', async () => {
  const { bridge, names, state } = await serve(store)

  expect(await names()).toEqual(['add_bear', 'get_state'])
  await bridge.call('add_bear')
  await bridge.call('add_bear')
  expect(await names()).toEqual(['add_bear', 'get_state', 'remove_bear'])
  expect(await state()).toEqual({ bears: 2 })
})

test('fromSignal makes a service from signals', async () => {
  const { bridge, names, state } = await serve(signals)

  for (let time = 0; time < 3; time++) await bridge.call('increase')
  expect(await names()).toEqual(['get_state'])
  expect(await state()).toEqual({ count: 3 })
})

test('an observable that has not emitted starts with the initial value', async () => {
  const { names, state } = await serve(observable)

  expect(await names()).toEqual(['get_state'])
  expect(await state()).toEqual({ seconds: 0 })
})

test('every adapter emits the current value, then later ones, until unsubscribed', () => {
  const emissions: unknown[] = []
  const bears = createStore(() => ({ bears: 1 }))
  const [count, subject, subjectWithoutValue] = [
    signal(1),
    new BehaviorSubject(1),
    new Subject<number>(),
  ]
  const unsubscribers = [
    fromStore(bears)(({ bears }) => emissions.push(`store ${bears}`)),
    fromSignal(count)((value) => emissions.push(`signal ${value}`)),
    fromObservable(subject, 0)((value) => emissions.push(`subject ${value}`)),
    fromObservable(subjectWithoutValue, 0)((value) => emissions.push(`late ${value}`)),
  ]
  const setAll = (value: number) => {
    bears.setState({ bears: value })
    count.value = value
    subject.next(value)
    subjectWithoutValue.next(value)
  }

  setAll(2)
  for (const unsubscribe of unsubscribers) unsubscribe()
  setAll(3)

  expect(emissions).toEqual([
    'store 1',
    'signal 1',
    'subject 1',
    'late 0',
    'store 2',
    'signal 2',
    'subject 2',
    'late 2',
  ])
})
