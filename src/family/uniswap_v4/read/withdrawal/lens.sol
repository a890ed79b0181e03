// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {LensPage} from '../../../../chain/call/page.sol';

interface IPositionManager {
    function getPoolAndPositionInfo(uint256) external view;
    function modifyLiquidities(bytes calldata unlockData, uint256 deadline) external payable;
}

/// Withdraws positions through the real position manager, notes what arrives, and undoes it, in one `eth_call`. The same
/// code stands at the address of a lens, which is asked, and at the owner's, which withdraws: the manager, the pool and
/// its hook see the owner.
///
/// The answer is the header of `page.sol`, where taken counts ids of the question, and for each of them u8 0 its hook is
/// not called when liquidity is removed, 1 it was paid u256 and u256 of its currencies, 2 the withdrawal reverts, 3 it
/// cannot be executed here: it takes too much gas, or needs the code that stands at the owner's address, 4 the withdrawal
/// reverts, and taking the fees alone paid u256 and u256.
contract Lens is LensPage {
    /// Of a hook's address, Hooks.sol: before and after liquidity is removed, and what that returns.
    uint256 private constant REMOVAL_BITS = 1 << 9 | 1 << 8 | 1;
    /// For one withdrawal, which takes 109,000 to 221,000 with the hooks of Uniswap's tests.
    uint256 private constant WITHDRAWAL_GAS = 1_500_000;
    /// What reading a position and answering take besides.
    uint256 private constant REST_GAS = 500_000;
    uint256 private constant BALANCE_GAS = 100_000;
    /// Of 256 parts of the gas: with fewer left, want of gas may be why a withdrawal failed. Each of the three contracts
    /// that call one another keeps a 64th.
    uint256 private constant PARTS_LEFT = 20;
    /// Actions.sol: BURN_POSITION or DECREASE_LIQUIDITY, and TAKE_PAIR. ActionConstants.sol: MSG_SENDER.
    bytes private constant BURN_ACTIONS = hex'0311';
    bytes private constant FEES_ACTIONS = hex'0111';
    address private constant TO_SENDER = address(1);

    receive() external payable {}

    function withdrawals(address owner, uint256[] calldata ids, address manager) external {
        Page memory page;
        page.question = reserve(160);
        page.answer = reserve(192);
        begin(page);
        for (uint256 i = 0; i < ids.length && gasleft() > WITHDRAWAL_GAS + REST_GAS; i++) {
            withdrawal(page, owner, ids[i], manager);
            page.taken++;
        }
        page.checkpoint = page.cursor;
        finish(page);
    }

    function withdrawal(Page memory page, address owner, uint256 id, address manager) private {
        if (!ask1(page, manager, IPositionManager.getPoolAndPositionInfo.selector, id, 192)) return put(page, 3, 1);
        address currency0 = address(uint160(word(page.answer)));
        address currency1 = address(uint160(word(page.answer + 32)));
        address hooks = address(uint160(word(page.answer + 128)));
        if (uint160(hooks) & REMOVAL_BITS == 0) return put(page, 0, 1);
        if (owner == hooks || owner == currency0 || owner == currency1) return put(page, 3, 1);
        argument(page, 0, id);
        argument(page, 1, uint160(currency0));
        argument(page, 2, uint160(currency1));
        argument(page, 3, uint160(manager));
        uint256 outcome = perform(page, owner);
        put(page, outcome, 1);
        if (outcome != 1 && outcome != 4) return;
        put(page, word(page.answer + 32), 32);
        put(page, word(page.answer + 64), 32);
    }

    /// Of the owner's `withdraw`, which reverts with its outcome.
    function perform(Page memory page, address owner) private returns (uint256 outcome) {
        uint256 question = page.question;
        uint256 answer = page.answer;
        bytes4 selector = this.withdraw.selector;
        assembly ("memory-safe") {
            mstore(question, or(selector, and(mload(question), shr(32, not(0)))))
            let ok := call(WITHDRAWAL_GAS, owner, 0, question, 132, answer, 96)
            outcome := 3
            if and(iszero(ok), eq(returndatasize(), 96)) { outcome := mload(answer) }
        }
    }

    /// At the owner's address: withdraws a position, or if that reverts its fees, and reverts with the outcome and both
    /// amounts, a word each. The call comes from the lens, which has the same code.
    function withdraw(uint256 id, address currency0, address currency1, address manager) external {
        if (msg.sender.codehash != address(this).codehash) revert();
        bytes[] memory parameters = new bytes[](2);
        parameters[0] = abi.encode(id, 0, 0, bytes(''));
        parameters[1] = abi.encode(currency0, currency1, TO_SENDER);
        (bool known0, uint256 before0) = balance(currency0);
        (bool known1, uint256 before1) = balance(currency1);
        uint256 outcome = 1;
        uint256 gasBefore = gasleft();
        if (!modify(manager, BURN_ACTIONS, parameters)) {
            if (gasleft() < gasBefore * PARTS_LEFT / 256) conclude(3, 0, 0);
            parameters[0] = abi.encode(id, 0, 0, 0, bytes(''));
            outcome = modify(manager, FEES_ACTIONS, parameters) ? 4 : 2;
        }
        if (outcome == 2) conclude(2, 0, 0);
        (bool still0, uint256 after0) = balance(currency0);
        (bool still1, uint256 after1) = balance(currency1);
        bool isSound = known0 && known1 && still0 && still1 && after0 >= before0 && after1 >= before1;
        if (!isSound) conclude(outcome == 4 ? 2 : 3, 0, 0);
        conclude(outcome, after0 - before0, after1 - before1);
    }

    function modify(address manager, bytes memory actions, bytes[] memory parameters) private returns (bool ok) {
        bytes memory unlockData = abi.encode(actions, parameters);
        bytes memory data = abi.encodeCall(IPositionManager.modifyLiquidities, (unlockData, type(uint256).max));
        assembly ("memory-safe") {
            ok := call(gas(), manager, 0, add(data, 32), mload(data), 0, 0)
        }
    }

    function conclude(uint256 outcome, uint256 amount0, uint256 amount1) private pure {
        assembly ("memory-safe") {
            let to := mload(0x40)
            mstore(to, outcome)
            mstore(add(to, 32), amount0)
            mstore(add(to, 64), amount1)
            revert(to, 96)
        }
    }

    /// Of this address. The zero address is the native token.
    function balance(address currency) private view returns (bool ok, uint256 value) {
        if (currency == address(0)) return (true, address(this).balance);
        assembly ("memory-safe") {
            mstore(0, 0x70a0823100000000000000000000000000000000000000000000000000000000)
            mstore(4, address())
            ok := staticcall(BALANCE_GAS, currency, 0, 36, 0, 32)
            ok := and(ok, gt(returndatasize(), 31))
            value := mload(0)
        }
    }

    function beforeCall(Page memory, uint256) internal view override {}
}
