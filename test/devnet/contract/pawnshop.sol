// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

/// A lender that keeps books only: each counter has what each wallet owes of each asset.
contract Pawnshop {
    mapping(address wallet => mapping(bytes32 counter => mapping(address asset => uint256))) public owed;

    event Lent(address indexed wallet, bytes32 indexed counter, address asset, uint256 amount);
    event Redeemed(address indexed wallet, bytes32 indexed counter, address asset, uint256 amount);
    /// What a pawn is worth, in cents.
    event Appraised(address indexed wallet, bytes32 indexed counter, uint256 cents);

    function lend(bytes32 counter, address asset, uint256 amount, uint256 cents) external {
        owed[msg.sender][counter][asset] += amount;
        emit Appraised(msg.sender, counter, cents);
        emit Lent(msg.sender, counter, asset, amount);
    }

    function redeem(bytes32 counter, address asset, uint256 amount) external {
        owed[msg.sender][counter][asset] -= amount;
        emit Redeemed(msg.sender, counter, asset, amount);
    }
}
